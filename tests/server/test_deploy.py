"""What the files of deploy/ start is started here, with other addresses and files."""

from __future__ import annotations

import json
import pathlib
import re
import shlex
import subprocess
import urllib.request
from typing import Any

import kubernetes_validate
import pytest
import yaml
from client import Client, ProblemError
from conftest import COMMAND, ROOT, Served

MANIFESTS = sorted((ROOT / "deploy" / "kubernetes").glob("*.yaml"))
UNIT = ROOT / "deploy" / "paddlegate.service"
DOCKERFILE = ROOT / "deploy" / "Dockerfile"
HEALTH_CHECK = ROOT / "deploy" / "health-check"


def documents(path: pathlib.Path) -> list[dict[str, Any]]:
    """The objects of a file."""
    return list(yaml.safe_load_all(path.read_text()))


def pod_of(path: pathlib.Path) -> dict[str, Any]:
    """The pod of the deployment in a file."""
    (deployment,) = [it for it in documents(path) if it["kind"] == "Deployment"]
    return deployment["spec"]["template"]["spec"]


def server_of(pod: dict[str, Any]) -> dict[str, Any]:
    """The container of the server."""
    containers = [*pod.get("initContainers", []), *pod["containers"]]
    (server,) = [it for it in containers if it["name"] == "paddlegate"]
    return server


def started(args: list[str], files: dict[str, pathlib.Path]) -> Served:
    """Start the command with these options, with files of this test and a free port."""
    own: list[str] = []
    for arg in args:
        name, _, value = arg.partition("=")
        if name == "--listen":
            continue
        own.append(f"{name}={files[value]}" if value in files else arg)
    return Served(*own)


@pytest.mark.parametrize("path", MANIFESTS, ids=lambda path: path.stem)
def test_the_manifests_are_valid(path: pathlib.Path) -> None:
    """By the schema of Kubernetes, in which no unknown field passes."""
    objects = documents(path)
    assert len(objects) >= 3
    for each in objects:
        kubernetes_validate.validate(each, "1.37", strict=True)


@pytest.mark.parametrize("path", MANIFESTS, ids=lambda path: path.stem)
def test_what_a_manifest_names_exists(path: pathlib.Path) -> None:
    """Secrets, files and ports are those of the same file, and nothing runs as root."""
    objects = {(it["kind"], it["metadata"]["name"]): it for it in documents(path)}
    pod = pod_of(path)
    server = server_of(pod)
    mounts = {mount["name"]: mount["mountPath"] for mount in server["volumeMounts"]}
    files: set[str] = set()
    for volume in pod["volumes"]:
        if "configMap" in volume:
            names = objects["ConfigMap", volume["configMap"]["name"]]["data"]
        elif volume["secret"]["secretName"] == "paddlegate-tls":
            names = {"tls.crt", "tls.key"}
        else:
            names = objects["Secret", volume["secret"]["secretName"]]["stringData"]
        files |= {f"{mounts[volume['name']]}/{name}" for name in names}
    used = {value for arg in server["args"] if (value := arg.partition("=")[2]).startswith("/etc")}
    assert used == files
    reference = server["env"][0]["valueFrom"]["secretKeyRef"]
    assert reference["key"] in objects["Secret", reference["name"]]["stringData"]
    security = {**pod.get("securityContext", {}), **server["securityContext"]}
    assert security["runAsNonRoot"]
    assert security["readOnlyRootFilesystem"]
    assert security["capabilities"] == {"drop": ["ALL"]}
    assert f"useradd --system --uid {security['runAsUser']} " in DOCKERFILE.read_text()


def test_the_service_starts_and_its_probes_answer(tmp_path: pathlib.Path) -> None:
    """The options and files of the manifest; of TLS only the options are not those."""
    path = ROOT / "deploy" / "kubernetes" / "service.yaml"
    objects = documents(path)
    server = server_of(pod_of(path))
    files = {}
    for each in objects:
        for name, text in (each.get("data") or each.get("stringData") or {}).items():
            if name.endswith(".json"):
                (tmp_path / name).write_text(text)
                files[f"/etc/paddlegate/{name.removesuffix('.json')}/{name}"] = tmp_path / name
    tokens = json.loads((tmp_path / "tokens.json").read_text())["tokens"]
    assert len({token["sha256"] for token in tokens}) == len(tokens) == 3
    # Without TLS here, so that the client needs no certificate; test_tls has its files.
    args = [arg for arg in server["args"] if not arg.startswith("--tls-")]
    served = started([*args, "--insecure-http"], files)
    for probe in ("livenessProbe", "readinessProbe"):
        place = server[probe]["httpGet"]["path"]
        with urllib.request.urlopen(served.url + place, timeout=60) as response:
            assert response.status == 200, "a probe has no token"
    hosts = [value for arg in args if (value := arg.removeprefix("--host=")) != arg]
    assert {"paddlegate", "paddlegate.default.svc"} <= set(hosts)
    for host in hosts:
        request = urllib.request.Request(f"{served.url}/healthz", headers={"host": f"{host}:443"})
        with urllib.request.urlopen(request, timeout=60) as response:
            assert response.status == 200
    with pytest.raises(ProblemError, match="401"):
        Client(served.url).acquire("shop-api")
    assert served.stop() == 0


def test_the_sidecar_starts_and_its_health_check_tells(tmp_path: pathlib.Path) -> None:
    """It succeeds while the server runs, and fails when it does not."""
    path = ROOT / "deploy" / "kubernetes" / "sidecar.yaml"
    server = server_of(pod_of(path))
    (limits,) = [it["data"]["limits.json"] for it in documents(path) if it["kind"] == "ConfigMap"]
    (tmp_path / "limits.json").write_text(limits)
    assert "--listen=127.0.0.1:8350" in server["args"], "nobody else reaches it"
    served = started(server["args"], {"/etc/paddlegate/limits.json": tmp_path / "limits.json"})
    assert Client(served.url).acquire("shop-api")["limit"] == 100
    port = served.url.rpartition(":")[2]
    assert subprocess.run([HEALTH_CHECK, port], timeout=60, check=False).returncode == 0
    assert served.stop() == 0
    stopped = subprocess.run([HEALTH_CHECK, port], timeout=60, check=False, capture_output=True)
    assert stopped.returncode != 0


def test_the_unit_is_valid_and_hardened(tmp_path: pathlib.Path) -> None:
    """By systemd itself; the command of the build stands for the installed one."""
    unit = tmp_path / "paddlegate.service"
    unit.write_text(UNIT.read_text().replace("/usr/local/bin/paddlegate", str(COMMAND)))
    checked = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", str(unit)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert checked.returncode == 0, checked.stderr
    assert "paddlegate.service:" not in checked.stderr
    # From 100, no protection at all, to 0.
    hardened = subprocess.run(
        ["systemd-analyze", "security", "--offline=true", "--threshold=20", str(unit)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert hardened.returncode == 0, hardened.stdout


def test_the_command_of_the_unit_starts(tmp_path: pathlib.Path) -> None:
    """Its options are those that the command has, and SIGHUP is what reloads it."""
    text = UNIT.read_text()
    command = re.search(r"^ExecStart=(.*)$", text, re.MULTILINE)
    assert command is not None
    _, verb, *args = shlex.split(command[1])
    assert verb == "serve"
    (tmp_path / "limits.json").write_text('{"limiters": {}}')
    at = args.index("/etc/paddlegate/limits.json")
    args[at] = str(tmp_path / "limits.json")
    del args[args.index("--listen") : args.index("--listen") + 2]
    served = Served(*args)
    assert "ExecReload=/bin/kill -HUP $MAINPID" in text
    assert served.stop() == 0


def test_the_container_file_names_what_exists() -> None:
    """Two stages, sources of this repository, no root, a health check, and known options."""
    lines = DOCKERFILE.read_text().replace("\\\n", " ").splitlines()
    instructions = [line.split(maxsplit=1) for line in lines if line and not line.startswith("#")]
    by_name: dict[str, list[str]] = {}
    for name, rest in instructions:
        by_name.setdefault(name, []).append(rest)
    assert len(by_name["FROM"]) == 2
    assert by_name["FROM"][0].endswith(" AS build")
    toolchain = re.search(r'rust-version = "([\d.]+)"', (ROOT / "Cargo.toml").read_text())
    assert toolchain is not None
    image = re.match(r"rust:(\d+)\.(\d+)-", by_name["FROM"][0])
    assert image is not None
    assert [int(part) for part in image.groups()] >= [
        int(part) for part in toolchain[1].split(".")[:2]
    ]
    for copy in by_name["COPY"]:
        *sources, _ = [word for word in copy.split() if not word.startswith("--")]
        if "--from=" not in copy:
            assert all((ROOT / source).exists() for source in sources), copy
    assert by_name["USER"] == ["10001:10001"]
    assert "paddlegate-health-check" in by_name["HEALTHCHECK"][0]
    assert json.loads(by_name["ENTRYPOINT"][0]) == ["/usr/local/bin/paddlegate", "serve"]
    assert json.loads(by_name["CMD"][0]) == ["--listen", "127.0.0.1:8350"]
