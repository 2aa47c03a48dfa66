"""`guardtui agent mcp`: the refinement loop for a coding agent, as a server of its tools."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

import click

from guardtui.cli.command_help import Command
from guardtui.cli.diagnostics import InputError, note
from guardtui.cli.guardrail_options import GuardrailFlags, guardrail_option
from guardtui.cli.options import FILE, reading_options
from guardtui.domain.prompt_reading import Reading


@click.command("mcp", cls=Command)
@click.argument("topic", type=FILE)
@click.option("--prompts", type=FILE, required=True, metavar="FILE", help="Labelled prompts.")
@reading_options
@guardrail_option()
@click.option(
    "--allow-write",
    "writes",
    is_flag=True,
    help="Record each evaluation, and let the agent keep and discard iterations.",
)
@click.option(
    "--allow-calls",
    "calls",
    type=click.IntRange(0),
    default=0,
    metavar="N",
    help="Calls of the guardrail that the agent may make in all (default: 0; cached verdicts cost "
    "none; retries count, and may exceed it).",
)
def command(
    topic: Path,
    prompts: Path,
    reading: Reading | None,
    guardrail: GuardrailFlags,
    writes: bool,
    calls: int,
) -> None:
    """Let a coding agent refine a topic, by the Model Context Protocol.

    Needs the extra: pip install "guardtui[mcp]". A client of the protocol starts this command and
    speaks with it on standard input and output: the tools evaluate, mistakes, compare, ideas, keep,
    discard, history and experiment work on the topic's session, as the app and 'guardtui history'
    do. With both --allow-write and --allow-calls an edited definition is deployed to a profile of
    AIRS, to be measured.
    """
    try:
        import mcp  # noqa: F401
    except ImportError as error:
        raise InputError(
            f"the package {error.name or 'mcp'}, which speaks with agents, is missing\n"
            "  pip install 'guardtui[mcp]'"
        ) from error
    if str(prompts) == "-":
        raise click.UsageError("--prompts: standard input is for the agent: name a file")
    from guardtui.app.agent.loop import AgentFiles, AgentLoop
    from guardtui.cli import signals
    from guardtui.cli.agent.mcp_server import server_of

    chosen, encoder, _ = guardrail.with_encoder(topic)
    files = AgentFiles(topic, prompts, reading)
    if sys.stdin.isatty():
        note("a client of the Model Context Protocol starts this command; Ctrl-C ends it")

    async def serve() -> None:
        loop = AgentLoop(files, chosen, encoder=encoder, writes=writes, calls=calls)
        serving = asyncio.create_task(server_of(loop).run_stdio_async())
        try:
            await asyncio.shield(serving)
        except asyncio.CancelledError:
            await loop.close()
            # A thread of the server waits for standard input, whose end may never come.
            word, code = signals.ending()
            note(word)
            os._exit(code)
        await loop.close()

    signals.run(serve())
