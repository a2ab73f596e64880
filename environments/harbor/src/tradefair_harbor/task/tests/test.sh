#!/bin/sh
# The verifier: ends the episode, if it still runs, and writes what the seat has earned.
exec python3 -c "
import json, os, pathlib, urllib.request
with urllib.request.urlopen(os.environ.get('TRADEFAIR_SEAT', 'http://market:8000') + '/outcome', timeout=240) as answer:
    outcome = json.load(answer)
((seat, own),) = outcome['seats'].items()
logs = pathlib.Path(os.environ.get('VERIFIER_LOGS', '/logs/verifier'))
(logs / 'outcome.json').write_text(json.dumps(outcome))
if own['score_range'] is None:
    raise SystemExit('this scenario has no scale of scores')
# One that left before anything counted scores 0, as one that does nothing.
reward = {'reward': float(own['score'] or 0), 'censored': float(outcome['censored'])}
if own['reward'] is not None:
    reward['raw'] = float(own['reward'])
(logs / 'reward.json').write_text(json.dumps(reward))
print(seat, reward, outcome['end_reason'])"
