"""`groundspeed schema`: the JSON Schema of a suite file."""

from __future__ import annotations

from typing import Any

import click

from groundspeed import spec
from groundspeed.cli.arguments import example, json_option
from groundspeed.cli.printing import print_json
from groundspeed.storage.written import WrittenProfile


@click.command("schema", epilog=example("groundspeed schema > suite.schema.json"))
@json_option
def command(as_json: bool) -> None:  # noqa: FBT001 - click
    """Print the JSON Schema of a suite file, for editors.

    With the YAML language server, begin a suite with the comment
    "# yaml-language-server: $schema=suite.schema.json" and the editor completes it.
    """
    # A schema is JSON with or without the option; it is taken so that scripts need no exception.
    del as_json
    print_json(_with_profiles(spec.json_schema()))


def _with_profiles(schema: dict[str, Any]) -> dict[str, Any]:
    """Say what an inline storage profile looks like, which the models of a suite leave open."""
    profile = WrittenProfile.model_json_schema(ref_template="#/$defs/{model}")
    schema["$defs"] |= {**profile.pop("$defs"), "WrittenProfile": profile}
    choices = schema["$defs"]["Storage"]["properties"]["emulate"]["anyOf"][0]["oneOf"]
    choices[1] = {"$ref": "#/$defs/WrittenProfile"}
    return schema
