"""A policy learns what earns, stays near where it was, and its objectives are those of the publications."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

torch = pytest.importorskip("torch", reason="needs the export extra")
pytest.importorskip("transformers", reason="needs the export extra")
from gamer.export.errors import ExportError
from gamer.export.networks.sequence import hidden_states
from gamer.export.training.options import FORMS
from gamer.export.training.refinement.policy import Policy, Prompt, Rules, divergence, objective
from tests.export.training.test_eq2 import made

RULES = Rules(answers=16, most=4, beta=0.0)
PROMPTS = (Prompt([3, 4, 5]), Prompt([6, 7]))


def cats(prompt: int, answers: Sequence[str]) -> list[float]:
    return [answer.split().count("cat") / 4 for answer in answers]


def policy(rules: Rules) -> Policy:
    language = made()[1]
    return Policy(language, 5e-3, rules, seed=1)


@pytest.mark.parametrize("form", FORMS)
def test_answers_that_earn_become_more_frequent(form: str) -> None:
    learner = policy(replace(RULES, form=form))
    rounds = [learner.round(PROMPTS, cats) for _ in range(14)]
    first, last = (sum(r.reward for r in part) / 5 for part in (rounds[:5], rounds[-5:]))
    assert last > 2 * first, (first, last)
    assert last > 0.3, (first, last)


@pytest.mark.parametrize(("form", "beta"), [("grpo", 20.0), ("printed", 1.0)])
def test_a_penalty_on_the_divergence_keeps_the_policy_near(form: str, beta: float) -> None:
    free, held = policy(replace(RULES, form=form)), policy(replace(RULES, form=form, beta=beta))
    for _ in range(10):
        loose, near = free.round(PROMPTS, cats), held.round(PROMPTS, cats)
    assert near.divergence < 0.2 * loose.divergence


def test_the_objective_clips_and_pads_as_the_publication_says() -> None:
    drawn = torch.log(torch.tensor([[0.5, 0.5], [0.5, 0.5]]))
    now = torch.log(torch.tensor([[0.9, 0.5], [0.1, 0.7]]))
    inside = torch.tensor([[1.0, 1.0], [1.0, 0.0]])
    given = torch.tensor([1.0, 0.0])  # advantages 1 and -1
    # ratios 1.8 → clipped to 1.2, 1.0; and 0.2, whose clipped loss 0.8 is the greater one.
    wanted = -(1.2 + 1.0 - 0.8) / 3
    assert float(objective(now, drawn, drawn, given, inside, RULES)) == pytest.approx(wanted, abs=1e-4)
    assert float(divergence(now, now).abs().max()) == 0
    assert float(divergence(now, drawn).min()) >= 0


def test_the_objective_of_eq_6_is_that_of_the_paper() -> None:
    """Its gradient is that of E[-r + β log(π / π_SFT)] over all answers of one token."""
    logits, first, beta = torch.tensor([0.3, -0.2, 0.9], requires_grad=True), torch.zeros(3), 0.4
    given = torch.tensor([1.0, 0.2, 0.5])
    now, before = torch.log_softmax(logits, 0), torch.log_softmax(first, 0)
    loss = (now.exp() * (-given + beta * (now - before))).sum()
    wanted = torch.autograd.grad(loss, logits)[0]
    rules, found = replace(RULES, form="printed", beta=beta), torch.zeros(3)
    for n, share in enumerate(now.exp().detach()):
        one = torch.log_softmax(logits, 0)[n].reshape(1, 1)
        part = objective(
            one, one.detach(), before[n].reshape(1, 1), given[n : n + 1], torch.ones(1, 1), rules
        )
        found = found + share * torch.autograd.grad(part, logits)[0]
    torch.testing.assert_close(found, wanted)


def test_a_photo_before_the_prompt_changes_what_is_answered() -> None:
    language = made()[1]
    seen = 3 * torch.randn(4, language.step.shape.hidden, generator=torch.Generator().manual_seed(1))
    with torch.no_grad():
        blind, seeing = (language.likelihood([3, 4], [[5, 2]], prompts) for prompts in (None, seen))
    assert float((blind - seeing).abs().max()) > 1e-3
    whole = language.nll([[3, 4]], [[5, 2]], seen[None])
    assert float(seeing.sum()) == pytest.approx(-float(whole), abs=1e-4)
    answer = language.sample([3, 4], 1, 4, 0.0, torch.Generator(), seen)[0]
    best = [float(language.likelihood([3, 4], [[n]], seen)) for n in range(12)]
    assert max(range(12), key=lambda n: best[n]) == answer[0] or answer[0] > 11
    with pytest.raises(ExportError, match="do not fit"):
        language.sample([3, 4], 1, 4, 0.0, torch.Generator(), seen.repeat(200, 1))


def test_equal_rewards_teach_nothing() -> None:
    learner = policy(RULES)
    before = [p.detach().clone() for p in learner._parameters]
    done = learner.round(PROMPTS, lambda n, answers: [0.5] * len(answers))
    assert done.taught == 0
    assert learner.round(PROMPTS, cats).taught > 0
    learner._set(before)
    learner.round(PROMPTS, lambda n, answers: [0.5] * len(answers))
    for parameter, value in zip(learner._parameters, before, strict=True):
        torch.testing.assert_close(parameter.detach(), value, rtol=0, atol=0)


def test_drawn_answers_have_the_likelihood_that_they_were_drawn_with() -> None:
    language = made()[1]
    answer = language.sample([3, 4, 5], 1, 4, 0.0, torch.Generator())[0]
    with torch.no_grad():
        likely = language.likelihood([3, 4, 5], [answer, answer[:1]])
    assert float(likely[1, 1:].abs().sum()) == 0
    assert float(likely[0].max()) < 0
    again = language.sample([3, 4, 5], 3, 4, 0.0, torch.Generator())
    assert again == [answer] * 3
    for n, token in enumerate(answer):
        others = [[*answer[:n], other] for other in range(12)]
        with torch.no_grad():
            scores = language.likelihood([3, 4, 5], others)[:, n]
        assert float(scores.max()) <= float(likely[0, n]) + 1e-5, token


def test_answers_share_their_prompt_as_if_each_had_its_own() -> None:
    """Values and gradients are those of whole sequences, one at a time."""
    language, prompt, answers = made()[1], [3, 4, 5, 6], [[7, 2], [3], [8, 9, 10]]
    assert language.adapter is not None
    parameters = list(language.adapter.parameters())
    for parameter in parameters:  # low-rank changes begin with a zero factor, which hides gradients
        torch.nn.init.normal_(parameter, std=0.1)
    together = language.likelihood(prompt, answers)
    wanted = torch.autograd.grad(together.sum(), parameters)
    found = [torch.zeros_like(parameter) for parameter in parameters]
    for n, answer in enumerate(answers):
        embeds, lengths = language._embedded([[*prompt, *answer]])
        logits = language.step.head(hidden_states(language.step, embeds, lengths))[0]
        likely = torch.log_softmax(logits, -1)[range(len(prompt) - 1, len(logits) - 1), answer]
        torch.testing.assert_close(together[n, : len(answer)], likely)
        found = [a + b for a, b in zip(found, torch.autograd.grad(likely.sum(), parameters), strict=True)]
    for one, other in zip(wanted, found, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-5)


def test_a_policy_without_changes_is_refused() -> None:
    with pytest.raises(ExportError, match="give --lora"):
        Policy(made(rank=0)[1], 1e-3, RULES, seed=1)


def test_a_killed_training_draws_what_a_whole_one_does() -> None:
    whole, killed = policy(RULES), policy(RULES)
    killed.rounds = 3
    for _ in range(3):
        whole.round(PROMPTS, lambda n, answers: [0.5] * len(answers))
    drawn: list[list[str]] = []
    for learner in (whole, killed):
        texts: list[str] = []
        learner._set(learner._before)
        learner.round(PROMPTS[:1], lambda n, answers, texts=texts: texts.extend(answers) or [0.5] * 16)  # type: ignore[misc]
        drawn.append(texts)
    assert drawn[0] == drawn[1]
