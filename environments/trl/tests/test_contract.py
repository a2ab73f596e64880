"""What TRL asks of an environment, against a real `tradefair host --tasks bundled`, which `make hubs` starts."""

import inspect
import math
import os
from pathlib import Path

import pytest
import torch
import trl
from datasets import Dataset
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from tradefair_client import control
from tradefair_trl import environment
from transformers import PreTrainedTokenizerFast, Qwen3Config, Qwen3ForCausalLM
from transformers.utils import get_json_schema
from trl import GRPOConfig, GRPOTrainer

pytestmark = pytest.mark.skipif(
    "TRADEFAIR_CONTROL_URL" not in os.environ, reason="no tradefair host --tasks bundled is named"
)
AUCTION = ("double_auction/smoke", "B1")
SEATS = [
    AUCTION,
    ("bargaining/smoke", "B1"),
    ("retail/first", "manager"),
    ("supply_chain/first", "retailer_01"),
    ("marketplace/first", "customer_0001"),
    ("pricing/smoke", "F1"),
    ("order_book/smoke", "B1"),
]


def tool_names(cls: type) -> list[str]:
    """As TRL collects them."""
    names = [name for name, _ in inspect.getmembers(cls, predicate=inspect.isfunction)]
    return [name for name in names if not name.startswith("_") and name not in ("reset", "get_reward")]


@pytest.mark.parametrize(("scenario", "seat"), SEATS)
def test_every_tool_has_a_schema_and_an_episode_a_reward(scenario: str, seat: str) -> None:
    rollout = environment(scenario, seat=seat)()
    names = tool_names(type(rollout))
    assert {"view_turn", "view_rules"} < set(names)
    assert not {"await_turn", "execute_code"} & set(names)
    for name in names:
        function = get_json_schema(getattr(rollout, name))["function"]
        assert function["name"] == name
        assert all(field["description"] for field in function["parameters"]["properties"].values())
    shown = rollout.reset(seed=7)
    assert '"awaited":true' in shown
    assert -1 <= rollout.get_reward() <= 1
    assert math.isnan(rollout.get_reward()), "a rollout is scored once"


def test_the_answer_to_what_ends_a_turn_is_the_next_turn_and_the_reward_is_the_hosts() -> None:
    rollout = environment(AUCTION[0], seat=AUCTION[1], reward="reward")()
    rollout.reset(seed=7)
    episode = rollout._seat.episode
    assert '"code":"invalid_arguments"' in rollout.submit_quote(price=-1)
    for following in (2, 3):
        assert f'"round":{following},' in rollout.submit_quote(price=60).splitlines()[-1]
    assert '"over":true' in rollout.submit_quote(price=60).splitlines()[-1]
    assert rollout.get_reward() == control(f"/episodes/{episode}/outcome")["seats"]["B1"]["reward"]


def test_without_a_scale_of_scores_it_says_what_to_take() -> None:
    rollout = environment("marketplace/first", seat="business_0001")()
    rollout.reset()
    with pytest.raises(ValueError, match="reward='reward'"):
        rollout.get_reward()


def test_a_rollout_whose_episode_the_host_has_ended_is_told_so_and_scored() -> None:
    rollout = environment(AUCTION[0], seat=AUCTION[1])()
    rollout.reset(seed=7)
    control(f"/episodes/{rollout._seat.episode}", method="DELETE")
    assert rollout.submit_quote(price=60) == "the episode is over: nobody called for too long"
    assert -1 <= rollout.get_reward() <= 1


def test_one_seed_is_one_luck_and_no_text_holds_a_token() -> None:
    cls = environment(AUCTION[0], seat=AUCTION[1])
    first, second = cls(), cls()
    shown = first.reset(seed=7) + first.submit_quote(price=60)
    assert shown == second.reset(seed=7) + second.submit_quote(price=60)
    assert first._seat.token not in shown
    assert "tf_" not in shown


def test_a_task_of_the_row_is_what_is_played() -> None:
    task = control("/tasks/train/0")
    rollout = environment("train/0")()
    assert task["scenario"] in rollout.reset(task="train/0", prompt="a column of the row")


# --- TRL itself -----------------------------------------------------------------------------------------------------


class Scripted(GRPOTrainer):
    """A trainer whose model says what a script says: one call, then nothing more. All else is TRL's."""

    script = (
        '<tool_call>\n{"name": "submit_quote", "arguments": {"price": %d}}\n</tool_call><|im_end|>',
        "Done.<|im_end|>",
    )

    def _generate_single_turn(self, prompt_ids, *rest, **options):
        turn = "tool_response" in self.processing_class.decode(prompt_ids[0])
        texts = [self.script[1] if turn else self.script[0] % (60 + 20 * k) for k in range(len(prompt_ids))]
        ids = [self.processing_class(text, add_special_tokens=False)["input_ids"] for text in texts]
        return ids, None


def small_tokenizer() -> PreTrainedTokenizerFast:
    """Bytes, and Qwen3's chat template, which comes with TRL."""
    alphabet = {letter: number for number, letter in enumerate(sorted(pre_tokenizers.ByteLevel.alphabet()))}
    tokenizer = Tokenizer(models.BPE(vocab=alphabet, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="<|im_end|>", pad_token="<|endoftext|>")
    fast.add_special_tokens({"additional_special_tokens": ["<|im_start|>"]})
    fast.chat_template = (Path(trl.__file__).parent / "chat_templates" / "qwen3.jinja").read_text(encoding="utf-8")
    return fast


def test_trl_collects_the_tools_and_takes_a_step_of_training(tmp_path: Path) -> None:
    torch.manual_seed(0)
    tokenizer = small_tokenizer()
    sizes = {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2}
    config = Qwen3Config(vocab_size=len(tokenizer), num_key_value_heads=1, head_dim=8, **sizes)
    cls = environment(AUCTION[0], seat=AUCTION[1])
    arguments = GRPOConfig(
        output_dir=str(tmp_path),
        max_steps=1,
        num_generations=2,
        per_device_train_batch_size=2,
        learning_rate=0.1,
        max_completion_length=4096,
        use_cpu=True,
        bf16=False,
        report_to=[],
        save_strategy="no",
        beta=0.0,
        logging_steps=1,
    )
    rows = Dataset.from_list([{"prompt": [{"role": "user", "content": "Play.\n"}], "seed": 7}])
    trainer = Scripted(
        model=Qwen3ForCausalLM(config),
        args=arguments,
        train_dataset=rows,
        processing_class=tokenizer,
        environment_factory=cls,
    )
    assert sorted(tool.__name__ for tool in trainer.tools) == sorted(tool_names(cls))
    before = [weight.detach().clone() for weight in trainer.model.parameters()]
    trainer.train()
    logged = next(line for line in trainer.state.log_history if f"rewards/{cls.__name__}/mean" in line)
    assert logged["tools/call_frequency"] == 1
    assert logged["tools/failure_frequency"] == 0
    assert logged["reward_std"] > 0, "two bids, two scores"
    assert any(not torch.equal(old, new) for old, new in zip(before, trainer.model.parameters(), strict=True))
