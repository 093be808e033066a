"""How `sums.eval` was made: with inspect_ai 0.3.285 itself and its mock model.

python make.py        writes logs/….eval
"""

from collections.abc import Iterator

from inspect_ai import Task, eval
from inspect_ai.dataset import Sample
from inspect_ai.model import ModelOutput, ModelUsage, get_model
from inspect_ai.scorer import includes
from inspect_ai.solver import Generate, Solver, TaskState, basic_agent, solver
from inspect_ai.tool import Tool, tool


@tool
def add() -> Tool:
    async def execute(x: int, y: int) -> str:
        """Adds two numbers.

        Args:
            x: The first.
            y: The second.
        """
        return str(x + y)

    return execute


@solver
def breaks() -> Solver:
    async def solve(state: TaskState, generate: Generate) -> TaskState:
        if state.sample_id == "broken":
            raise RuntimeError("the sandbox went away")
        return state

    return solve


def answers() -> Iterator[ModelOutput]:
    while True:
        for name, arguments in (("add", {"x": 1, "y": 1}), ("submit", {"answer": "2"})):
            output = ModelOutput.for_tool_call("mockllm/model", name, arguments)
            output.usage = ModelUsage(
                input_tokens=100, output_tokens=20, total_tokens=150, input_tokens_cache_read=30
            )
            yield output


task = Task(
    name="sums",
    version=3,
    dataset=[
        Sample(id="one and one", input="What is 1+1?", target="2"),
        Sample(id="one and two", input="What is 1+2?", target="3"),
        Sample(id="broken", input="What is 1+1?", target="2"),
    ],
    solver=[breaks(), basic_agent(tools=[add()], message_limit=30)],
    scorer=includes(),
    fail_on_error=False,
)
eval(
    task,
    model=get_model("mockllm/model", custom_outputs=answers()),
    log_dir="logs",
    log_format="eval",
    display="none",
    max_samples=1,
)
