#!/usr/bin/env python3
"""deploy-schemas.py writes the schemas in deploy/testdata anew, from two modules of the Go proxy.

The schema of Compose is a copy. That of Kubernetes has the kinds of deploy/kubernetes.yaml and what they
use, without descriptions; an unknown field is an error, as with kubectl --validate=strict.
"""
import json
import os
import subprocess
import tempfile

COMPOSE = "github.com/compose-spec/compose-go/v2@v2.16.2"
KUBERNETES = "k8s.io/kubernetes@v1.36.2"
KINDS = {
    "v1/ConfigMap": "io.k8s.api.core.v1.ConfigMap",
    "v1/Service": "io.k8s.api.core.v1.Service",
    "apps/v1/StatefulSet": "io.k8s.api.apps.v1.StatefulSet",
    "policy/v1/PodDisruptionBudget": "io.k8s.api.policy.v1.PodDisruptionBudget",
    "networking.k8s.io/v1/NetworkPolicy": "io.k8s.api.networking.v1.NetworkPolicy",
}
TO = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "deploy", "testdata")


def module(name):
    """Download a module, and return its folder."""
    with tempfile.TemporaryDirectory() as empty:
        out = subprocess.run(["go", "mod", "download", "-json", name], cwd=empty, check=True, capture_output=True)
    return json.loads(out.stdout)["Dir"]


def schema(is_, used):
    """Turn a definition of OpenAPI 2 into a JSON Schema. Its references go to used."""
    if isinstance(is_, list):
        return [schema(one, used) for one in is_]
    if not isinstance(is_, dict):
        return is_
    if is_.get("format") == "int-or-string":
        return {"type": ["integer", "string"]}
    new = {}
    for key, value in is_.items():
        if key == "$ref":
            name = value.removeprefix("#/definitions/")
            used.append(name)
            new[key] = "#/$defs/" + name
        elif key == "properties":
            new[key] = {name: schema(one, used) for name, one in value.items()}
        elif key in ("type", "items", "required", "additionalProperties", "enum"):
            new[key] = schema(value, used)
    if "properties" in new:
        new.setdefault("additionalProperties", False)
    return new


def kubernetes(all_):
    """Return the schemas of the kinds, with all that they use."""
    defs, wanted = {}, list(KINDS.values())
    while wanted:
        name = wanted.pop()
        if name not in defs:
            defs[name] = schema(all_[name], wanted)
    for name in ("io.k8s.apimachinery.pkg.api.resource.Quantity",):
        defs[name] = {"type": ["string", "number"]}  # the API server takes both
    kinds = {kind: {"$ref": "#/$defs/" + name} for kind, name in sorted(KINDS.items())}
    return {"kinds": kinds, "$defs": dict(sorted(defs.items()))}


def write(name, value):
    with open(os.path.join(TO, name), "w", encoding="utf-8") as f:
        json.dump(value, f, indent=1, sort_keys=True)
        f.write("\n")


os.makedirs(TO, exist_ok=True)
with open(os.path.join(module(COMPOSE), "schema", "compose-spec.json"), encoding="utf-8") as f:
    write("compose-spec.json", json.load(f))
with open(os.path.join(module(KUBERNETES), "api", "openapi-spec", "swagger.json"), encoding="utf-8") as f:
    write("kubernetes.json", kubernetes(json.load(f)["definitions"]))
