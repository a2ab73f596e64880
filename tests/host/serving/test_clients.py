"""The table of clients, what `config` prints and writes, and how a client's file is edited."""

from __future__ import annotations

import json
import os
import stat
import sys
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.host.serving.client_snapshots import HOSTED, LOCAL, SNAPSHOT, text
from tests.options_files import options_file

from tradefair.cli import run
from tradefair.contract.errors import ScenarioError
from tradefair.host.clients.client_config import Client, Server, client_named, clients, entry, launcher, snippet
from tradefair.host.clients.client_files import Unmergeable, merged, parsed, rendered, write

TOKENS = (
    "$TRADEFAIR_TOKEN",
    "${TRADEFAIR_TOKEN}",
    "${env:TRADEFAIR_TOKEN}",
    "{env:TRADEFAIR_TOKEN}",
    "${input:tradefair-token}",
)
# Clients that can refer to a variable, or ask: these open the URL themselves. Continue's headers are not documented.
DIRECT = (
    *("claude-code", "cursor", "vscode", "codex", "gemini", "qwen", "copilot", "opencode", "kilo", "crush"),
    *("windsurf", "goose"),
)


# --- the table --------------------------------------------------------------------------------------------------------


def test_what_clients_are_told_is_what_their_documentation_says() -> None:
    assert SNAPSHOT.read_text(encoding="utf-8") == text(), "read the client's page, then write the snapshot anew"
    assert list(clients()) == [
        *(
            "claude",
            "claude-code",
            "cursor",
            "vscode",
            "codex",
            "gemini",
            "qwen",
            "copilot",
            "opencode",
            "kilo",
            "crush",
        ),
        *("zed", "windsurf", "cline", "goose", "continue", "lmstudio", "jan"),
    ]
    assert all(client.page.startswith("https://") for client in clients().values())


@pytest.mark.parametrize("name", clients())
def test_a_hosted_seat_is_opened_directly_where_the_token_need_not_be_text(name: str) -> None:
    client = client_named(name)
    made = entry(client, HOSTED)
    said = json.dumps(made)
    if name in DIRECT:
        assert "connect" not in said
        assert any(form in said for form in TOKENS) or made["bearer_token_env_var"] == "TRADEFAIR_TOKEN"
    else:
        assert "connect" in said
        assert "--token-file" in said or made["env"] == {"TRADEFAIR_TOKEN": "${{ secrets.TRADEFAIR_TOKEN }}"}
    through = json.dumps(entry(client, replace(HOSTED, token_file=Path("/t"))))
    assert '"connect", "https://market.example/mcp", "--token-file", "/t"' in through
    assert "Bearer" not in through


@pytest.mark.parametrize(
    ("system", "name", "place"),
    [
        ("linux", "claude", "~/.config/Claude/claude_desktop_config.json"),
        ("darwin", "claude", "~/Library/Application Support/Claude/claude_desktop_config.json"),
        ("win32", "claude", "APPDATA/Claude/claude_desktop_config.json"),
        ("darwin", "zed", "~/.config/zed/settings.json"),
        ("win32", "zed", "APPDATA/Zed/settings.json"),
        ("linux", "codex", "~/.codex/config.toml"),
        ("win32", "continue", "~/.continue/mcpServers/tradefair-x.yaml"),
        ("linux", "vscode", "./.vscode/mcp.json"),
    ],
)
def test_each_system_has_its_own_place(
    system: str, name: str, place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    monkeypatch.delenv("CODEX_HOME", raising=False)
    monkeypatch.setenv("APPDATA", str(tmp_path / "APPDATA"))
    monkeypatch.setattr(sys, "platform", system)
    expected = place.replace("~", str(Path.home())).replace("APPDATA", str(tmp_path / "APPDATA"))
    assert client_named(name).place("tradefair-x")[0] == tmp_path / expected.removeprefix("./")


def test_folders_that_variables_name_are_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "xdg"))
    monkeypatch.setenv("CODEX_HOME", str(tmp_path / "codex"))
    monkeypatch.setattr(sys, "platform", "linux")
    assert client_named("zed").place("x") == (tmp_path / "xdg" / "zed" / "settings.json", tmp_path / "xdg")
    assert client_named("codex").place("x")[0] == tmp_path / "codex" / "config.toml"
    monkeypatch.setattr(sys, "platform", "darwin")
    assert client_named("zed").place("x")[0] == Path.home() / ".config" / "zed" / "settings.json"


def test_what_starts_tradefair(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert Path(launcher("script")[0]).is_absolute()
    assert launcher("python") == [sys.executable, "-m", "tradefair.cli"]
    assert launcher("uvx") == ["uvx", "--from", "tradefair", "tradefair"]
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    monkeypatch.setenv("PATH", str(tmp_path))
    assert launcher("script") == ["tradefair"]
    with pytest.raises(ScenarioError, match="there is no launcher 'uv'; did you mean uvx"):
        launcher("uv")


# --- edits ------------------------------------------------------------------------------------------------------------

# Client, its file, and the lines that must still be there, in this order.
FILES: dict[str, tuple[str, str]] = {
    "comments of JSONC": (
        "zed",
        '// mine\n{\n\t"theme": "One", // dark\n\t"context_servers": {\n\t\t/* keep */\n'
        '\t\t"other": {"command": "// no comment"}, // last\n\t},\n}\n',
    ),
    "a comment at the end": ("zed", '{\n  "theme": "One" // dark\n  // end\n}\n'),
    "an old entry": ("zed", '{\n  "context_servers": {\n    "tradefair-teaching": {"command": "old"}\n  }\n}\n'),
    "null": ("gemini", '{\n  "mcpServers": null,\n  "ui": {}\n}\n'),
    "empty": ("opencode", "{}"),
    "only comments": ("opencode", "// nothing yet\n{\n}\n"),
    "one line": ("claude", '{"a":1,"mcpServers":{"other":{"command":"x"}}}'),
    "a key twice": ("claude", '{"mcpServers":{"gone":{}},"mcpServers":{"other":{"command":"x"}}}'),
    "comments of TOML": (
        "codex",
        'model = "x" # m\n\n[mcp_servers.other]\ncommand = "y" # c\n[mcp_servers.other.env]\nA = "1"\n\n[tui]\nx = 1\n',
    ),
    "inline TOML": ("codex", 'mcp_servers = { other = { command = "y" } }\nmodel = "z"\n'),
    "only comments of TOML": ("codex", "# nothing yet\n"),
    "comments of YAML": (
        "goose",
        "# c\nmode: auto # m\nextensions:\n  # built in\n  developer:\n    type: builtin # b\n\n# after\nother: 1\n",
    ),
    "YAML null": ("goose", "extensions:\nother: 1\n"),
    "YAML braces": ("goose", "extensions: {}\nother: 1\n"),
    "a YAML text block": ("goose", "note: |\n  some\n  lines\n"),
    "an old entry of YAML": (
        "goose",
        "extensions:\n    tradefair-teaching:\n        cmd: old\n    z:\n        type: builtin # z\n# end\n",
    ),
    "a block of Continue": ("continue", "name: mine # n\nversion: 2.0.0\nschema: v1\n# end\n"),
}


@pytest.mark.parametrize(("name", "before"), FILES.values(), ids=FILES)
def test_an_entry_is_added_and_nothing_else_changes(name: str, before: str) -> None:
    client = client_named(name)
    after = merged(before, client, LOCAL)
    old, new = parsed(before, client.format), parsed(after, client.format)
    held = new.pop(client.key)
    others: dict[str, Any] = old.pop(client.key, None) or {}
    if name == "continue":
        assert held == [entry(client, LOCAL)]
    else:
        assert held == {**others, "tradefair-teaching": entry(client, LOCAL)}
    assert {**new, **old} == new
    # Every comment is there, each once and in its order.
    marks = [mark for mark in before.split() if mark in ("mine", "dark", "keep", "last", "end", "after", "built", "#")]
    left = iter(after.split())
    assert all(mark in left for mark in marks)
    assert merged(after, client, LOCAL) == after


def test_what_a_person_added_to_an_entry_stays_and_no_second_address_does() -> None:
    client = client_named("gemini")
    old = {"command": "old", "trust": True, "httpUrl": "http://elsewhere/mcp", "env": {"A": "1"}}
    after = merged(json.dumps({"mcpServers": {"tradefair": old}}), client, HOSTED)
    made = json.loads(after)["mcpServers"]["tradefair"]
    assert made == {**entry(client, HOSTED), "trust": True, "env": {"A": "1"}}


@pytest.mark.parametrize("sub", ["", "[mcp_servers.tradefair.env]\nA = '1'\n"])
def test_comments_before_the_next_table_stay_where_an_older_entry_goes(sub: str) -> None:
    behind = "\n# Colours, by hand\n\n[tui]\ntheme = 1 # dark\n"
    before = f"[mcp_servers.tradefair]\nurl = 'http://old/mcp'\n{sub}{behind}"
    after = merged(before, client_named("codex"), HOSTED)
    assert after.endswith(behind)
    assert "old" not in after
    # Not a line longer each time.
    assert merged(after.replace(HOSTED.url, "http://older/mcp"), client_named("codex"), HOSTED) == after


def test_a_question_is_asked_once_next_to_those_of_others() -> None:
    client = client_named("vscode")
    before = '{\n  "inputs": [\n    {"type": "promptString", "id": "key"} // mine\n  ],\n  "servers": {}\n}\n'
    after = merged(before, client, HOSTED)
    assert "// mine" in after
    assert [question["id"] for question in parsed(after, "jsonc")["inputs"]] == ["key", "tradefair-token"]
    reworded = after.replace("Token of the seat", "My token")
    assert merged(reworded, client, HOSTED) == reworded


@pytest.mark.parametrize(
    ("name", "before", "why"),
    [
        ("claude", '{"a": 1,}', "not valid JSON: line 1"),
        ("claude", "// strict\n{}", "not valid JSON"),
        ("claude", "[]", "no table of names"),
        ("claude", '{"mcpServers": [1]}', "mcpServers is no table of names"),
        ("zed", '{"a": ', "not valid JSON"),
        ("zed", "{" + '"a": {' * 5_000, "nested too deep"),
        ("zed", '{"a": "' + "]" * 200 + '", "b": ' + "[" * 150 + "]" * 150 + "}", "nested too deep"),
        ("goose", f"a: {'[' * 20_000}{']' * 20_000}", "nested too deep"),
        ("codex", f"a = {'[' * 900}{']' * 900}", "nested too deep"),
        ("goose", "a:\n " + "- " * 20_000 + "x\n", "not valid YAML"),
        ("zed", '/*"' * 80_000, "not valid JSON"),
        ("codex", "a = \n", "not valid TOML"),
        ("codex", "a." * 60 + "b = 1", "a key of 40 parts or more"),
        ("codex", "mcp_servers = 1", "mcp_servers is no table of names"),
        ("goose", "a: [1\n", "not valid YAML: line 2"),
        ("goose", "a: !!python/object:os.system x\n", "not valid YAML"),
        ("goose", "a: &b [1]\nc: *b\n", "aliases"),
        ("goose", "extensions: [1]\n", "extensions is no table of names"),
        ("continue", "name: mine\nmcpServers:\n- name: other\n- name: tradefair\n", "mcpServers are others, too"),
        ("continue", "mcpServers:\n  other: {}\n", "mcpServers are others, too"),
        ("goose", "a: 1\n---\nb: 2\n", "not valid YAML"),
    ],
)
def test_what_cannot_be_edited_is_refused(name: str, before: str, why: str) -> None:
    with pytest.raises(Unmergeable, match=why):
        merged(before, client_named(name), LOCAL)


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
_KEYS = st.sampled_from(["mcpServers", "servers", "mcp_servers", "extensions", "inputs", "a b", "é"])


@settings(max_examples=25, deadline=None)
@given(
    st.dictionaries(_KEYS, st.dictionaries(st.text(max_size=8), _VALUES, max_size=3) | _VALUES, max_size=4),
    st.sampled_from(["claude", "vscode", "goose"]),
    st.sampled_from([None, 2, "\t"]),
    st.booleans(),
)
def test_any_file_is_edited_so_that_it_holds_the_entry_or_is_refused(
    content: dict[str, Any], name: str, indent: int | str | None, ascii_only: bool
) -> None:
    client = client_named(name)
    before = json.dumps(content, indent=indent, ensure_ascii=ascii_only)
    if client.format == "yaml":
        before = yaml.safe_dump(content, allow_unicode=not ascii_only)
    try:
        after = merged(before, client, HOSTED)
    except Unmergeable:
        # Plain JSON whose servers are a table is always taken.
        assert client.format == "yaml" or not isinstance(content.get(client.key, {}), dict | None)
        return
    # As the format's own parser reads it: YAML does not give every character back.
    held = parsed(before, client.format)
    servers: dict[str, Any] = {**(held.get(client.key) or {}), "tradefair": entry(client, HOSTED)}
    got = parsed(after, client.format)
    assert {**got, "inputs": 0} == {**got, **held, client.key: servers, "inputs": 0}
    assert merged(after, client, HOSTED) == after


# --- files ------------------------------------------------------------------------------------------------------------


@pytest.fixture
def zed(tmp_path: Path) -> tuple[Client, Path]:
    return client_named("zed"), tmp_path / "deep" / "settings.json"


def test_a_file_that_is_not_there_is_made_for_its_owner_only(zed: tuple[Client, Path]) -> None:
    client, path = zed
    done = write(client, LOCAL, path)
    assert (done.changed, done.backup) == (True, None)
    assert path.read_text() == rendered(snippet(client, LOCAL), "jsonc")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert write(client, LOCAL, path) == (path, None, False)
    assert os.listdir(path.parent) == ["settings.json"]


def test_the_old_file_stays_beside_the_new_one_whose_form_is_kept(zed: tuple[Client, Path]) -> None:
    client, path = zed
    path.parent.mkdir()
    before = b'\xef\xbb\xbf{\r\n  "a": 1 // mine\r\n}\r\n'
    path.write_bytes(before)
    path.chmod(0o640)
    done = write(client, LOCAL, path)
    assert done.backup is not None
    assert (done.backup.name, done.backup.read_bytes()) == (
        "settings.json.bak",
        b'\xef\xbb\xbf{\r\n  "a": 1 // mine\r\n}\r\n',
    )
    after = path.read_bytes()
    assert after.count(b"\r\n") == after.count(b"\n")
    assert after.startswith(b"\xef\xbb\xbf{")
    assert {stat.S_IMODE(file.stat().st_mode) for file in (path, done.backup)} == {0o640}
    again = write(client, replace(LOCAL, name="second"), path)
    assert again.backup is not None
    assert (again.backup.name, again.backup.read_bytes()) == ("settings.json.bak2", after)


def test_a_broken_file_is_left_as_it_is(zed: tuple[Client, Path]) -> None:
    client, path = zed
    path.parent.mkdir()
    path.write_text("{")
    with pytest.raises(ScenarioError, match=r"settings\.json: not valid JSON: line 1.*nothing was written"):
        write(client, LOCAL, path)
    assert (path.read_text(), os.listdir(path.parent)) == ("{", ["settings.json"])


@pytest.mark.parametrize("kind", ["link out", "link to nothing", "circle", "FIFO", "folder", "large", "not text"])
def test_what_is_no_file_of_a_person_is_refused(kind: str, zed: tuple[Client, Path], tmp_path: Path) -> None:
    client, path = zed
    path.parent.mkdir()
    other = tmp_path / "other.json"
    other.write_text("{}")
    match kind:
        case "link out":
            path.symlink_to(other)
        case "link to nothing":
            path.symlink_to(tmp_path / "absent")
        case "circle":
            path.symlink_to(path)
        case "FIFO":
            os.mkfifo(path)
        case "folder":
            path.mkdir()
        case "large":
            path.write_text(" " * (256 << 10) + "{}")
        case _:
            path.write_bytes(b'{"a": "\xff"}')
    with pytest.raises(ScenarioError, match=r"settings\.json: "):
        write(client, LOCAL, path)
    assert other.read_text() == "{}"
    assert os.listdir(path.parent) == ["settings.json"]


def test_a_link_within_the_folder_stays_a_link(zed: tuple[Client, Path]) -> None:
    client, path = zed
    path.parent.mkdir()
    (path.parent / "real.json").write_text("{}")
    path.symlink_to("real.json")
    assert write(client, LOCAL, path).file.name == "real.json"
    assert path.is_symlink()
    assert parsed(path.read_text(), "jsonc") == snippet(client, LOCAL)


def test_a_projects_folder_that_leads_elsewhere_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "project").mkdir()
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "project" / ".vscode").symlink_to(tmp_path / "elsewhere")
    monkeypatch.chdir(tmp_path / "project")
    with pytest.raises(ScenarioError, match=r"leads out of .*; name the file itself with --file"):
        write(client_named("vscode"), LOCAL)
    assert os.listdir(tmp_path / "elsewhere") == []


# --- the command ------------------------------------------------------------------------------------------------------


def config(*arguments: str) -> int:
    return run(["config", "teaching", *arguments])


def test_the_command_writes_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "config.toml"
    file.write_text('model = "x" # mine\n')
    told = options_file(tmp_path, wait=2.5, slim_tools=True)
    options = ("--client", "codex", "--file", str(file), "--launcher", "python", *told)
    assert config(*options, "--write") == 0
    assert f"{file}: written; the file as it was: {file}.bak" in capsys.readouterr().out
    (made,) = tomllib.loads(file.read_text())["mcp_servers"].values()
    assert [made["command"], *made["args"][:4]] == [sys.executable, "-m", "tradefair.cli", "serve", "teaching"]
    assert made["args"][-3:] == [*told, "--continue"]
    assert config(*options, "--write") == 0
    assert capsys.readouterr().out == f"{file}: already says so\n"


def test_the_command_answers_programs(capsys: pytest.CaptureFixture[str]) -> None:
    url = "http://127.0.0.1:8765/mcp"
    assert run(["config", "--client", "claude-code", "--url", url, "--name", "seat-B1", "--json"]) == 0
    told = orjson.loads(capsys.readouterr().out)
    header = "Authorization: Bearer ${TRADEFAIR_TOKEN}"
    assert told["line"] == f"claude mcp add --transport http seat-B1 {url} --header '{header}'"
    assert told["content"]["mcpServers"]["seat-B1"]["url"] == url
    assert told["file"] == str(Path(".mcp.json").absolute())


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["--client", "zedd"], "there is no client 'zedd'; did you mean zed"),
        (["--client", "emacs"], "there is no client 'emacs'; there are claude, claude-code, cursor"),
        (["--url", "http://127.0.0.1:8765/mcp"], "leave out the market"),
        (["--name", "a b"], "a server's name is 1 to 64 letters"),
        (["--launcher", "npx"], "there is no launcher 'npx'"),
        (["--out", "a\nb"], "a path that no client's file can hold"),
    ],
)
def test_wrong_words_are_refused(arguments: list[str], why: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert config(*arguments) == 2
    assert why in capsys.readouterr().err


@pytest.mark.parametrize(
    "url",
    ["file:///etc/passwd", "http://user:tf_secret@host/mcp", "http://host/${HOME}", "http://host:x/mcp", "http:///mcp"],
)
def test_only_addresses_of_hosts_are_taken(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["config", "--url", url]) == 2
    said = capsys.readouterr().err
    assert "--url takes a host's address" in said
    assert "secret" not in said


def test_what_uvx_has_started_is_started_by_uvx(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "prefix", "/home/you/.cache/uv/archive-v0/cromKtxKQ7nI")
    assert launcher("script") == launcher("uvx")


# --- a recorder in front of any server --------------------------------------------------------------------------------


@pytest.mark.parametrize("name", clients())
def test_each_client_is_told_to_start_any_server_through_the_recorder(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(["config", "--record", "desk", "--client", name, "--json", "--", "npx", "-y", "a-server", "--seed"]) == 0
    told = json.loads(capsys.readouterr().out)
    line = [*launcher("script"), "record", "--out", str(tmp_path / "runs"), "--name", "desk", "--"]
    server = Server("desk", [*line, "npx", "-y", "a-server", "--seed"])
    assert told["content"] == snippet(client_named(name), server)
    assert (told["name"], told["token"], told["line"]) == ("desk", "", "")


@pytest.mark.parametrize("name", clients())
def test_a_recorded_address_is_opened_without_a_token_of_ours(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    url = "https://example.org/v1/mcp?key=abc"
    code = run(["config", "--record", "desk", "--client", name, "--json", "--url", url, "--port", "9000"])
    said = capsys.readouterr()
    if name not in DIRECT:
        assert (code, "opens no URL" in said.err) == (2, True)
        return
    told = json.loads(said.out)
    held = json.dumps(told["content"])
    assert "http://127.0.0.1:9000/mcp" in held
    assert not [word for word in ("TRADEFAIR_TOKEN", "uthorization", "example.org", "inputs", "{u") if word in held]
    assert f"record --out {tmp_path}/runs --name desk --port 9000 --url '{url}'" in told["token"]


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["--record", "desk"], "takes a server"),
        (["--record", "desk", "--url", "https://h/mcp", "--", "npx"], "takes a server"),
        (["--record", "a b", "--", "npx"], "a server's name"),
        (["--record", "desk", "--config", "seed.toml", "--", "npx"], "of any server"),
        (["--record", "desk", "--seat", "B1", "--", "npx"], "of any server"),
        (["--record", "desk", "--url", "ftp://h"], "--url takes"),
        (["teaching", "more"], "--record NAME"),
    ],
)
def test_what_cannot_be_recorded_is_said(
    arguments: list[str],
    reason: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("seed.toml").write_text("seed = 3", encoding="utf-8")
    assert run(["config", *arguments]) == 2
    assert reason in capsys.readouterr().err
