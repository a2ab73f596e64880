"""Results that tau2's own models write: two simulations, a customer with tools, several answers in one message."""

import sys
from pathlib import Path

from tau2.data_model.message import AssistantMessage, MultiToolMessage, ToolCall, ToolMessage, UserMessage
from tau2.data_model.simulation import AgentInfo, Info, Results, RewardInfo, SimulationRun, UserInfo
from tau2.data_model.tasks import Action, EvaluationCriteria, Task, UserScenario
from tau2.environment.environment import EnvironmentInfo


def call(key, name, requestor="assistant"):
    return ToolCall(id=key, name=name, arguments={"order_id": "W1"}, requestor=requestor)


def answer(key, content, requestor="assistant", error=False):
    return ToolMessage(id=key, role="tool", content=content, requestor=requestor, error=error)


messages = [
    AssistantMessage(role="assistant", content="Hi! How can I help?"),
    UserMessage(role="user", content="Refund W1"),
    AssistantMessage(role="assistant", tool_calls=[call("1", "get_order"), call("2", "refund_order")], cost=0.1),
    MultiToolMessage(role="tool", tool_messages=[answer("1", "delivered"), answer("2", "no", error=True)]),
    UserMessage(role="user", tool_calls=[call("3", "restart_phone", "user")]),
    answer("3", "", "user"),
]
times = {"start_time": "2026-05-04T10:00:00", "end_time": "2026-05-04T10:01:00", "duration": 60.0}
runs = [
    SimulationRun(
        id=f"sim-{trial}", task_id="t1", trial=trial, messages=messages, termination_reason="user_stop",
        reward_info=RewardInfo(reward=reward), **times,
    )
    for trial, reward in enumerate((1.0, 0.0))
]  # fmt: skip
criteria = EvaluationCriteria(
    actions=[Action(action_id="1", name="refund_order", arguments={"order_id": "W1"})], communicate_info=["40"]
)
info = Info(
    git_commit="0", num_trials=2, max_steps=9, max_errors=9, user_info=UserInfo(implementation="user"),
    agent_info=AgentInfo(implementation="agent", llm="m"),
    environment_info=EnvironmentInfo(domain_name="shop", policy="Help customers."),
)  # fmt: skip
task = Task(id="t1", user_scenario=UserScenario(instructions="refund"), evaluation_criteria=criteria)
Results(info=info, tasks=[task], simulations=runs).save(Path(sys.argv[1]))
