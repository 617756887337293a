package deploy_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"gopkg.in/yaml.v3"

	"github.com/messkit/messkit/internal/cli"
	"github.com/messkit/messkit/internal/cli/output"
	"github.com/messkit/messkit/internal/config"
)

// documents reads the YAML documents of a file, as values of JSON.
func documents(t *testing.T, file string) (all []map[string]any) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for d := yaml.NewDecoder(bytes.NewReader(data)); ; {
		var doc, plain map[string]any
		if err := d.Decode(&doc); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		text, err := json.Marshal(doc)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(text, &plain); err != nil {
			t.Fatal(err)
		}
		all = append(all, plain)
	}
}

// schema reads a schema of testdata.
func schema(t *testing.T, data []byte) *jsonschema.Resolved {
	t.Helper()
	var s jsonschema.Schema
	if err := json.Unmarshal(data, &s); err != nil {
		t.Fatal(err)
	}
	r, err := s.Resolve(&jsonschema.ResolveOptions{BaseURI: "https://schemas.example/"})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// at returns a value in a document, by keys and indexes; nil if it is not there.
func at(v any, path ...any) any {
	for _, key := range path {
		switch one := key.(type) {
		case string:
			m, _ := v.(map[string]any)
			v = m[one]
		case int:
			list, _ := v.([]any)
			if one >= len(list) {
				return nil
			}
			v = list[one]
		}
	}
	return v
}

func texts(v any) (all []string) {
	list, _ := v.([]any)
	for _, one := range list {
		all = append(all, fmt.Sprint(one))
	}
	return all
}

// checkCommand checks that messkit has a command with its flags.
func checkCommand(t *testing.T, args []string) {
	t.Helper()
	root := cli.NewRoot(&output.Env{Out: &bytes.Buffer{}})
	c, rest, err := root.Find(args)
	if err == nil && c == root {
		err = errors.New("it has no command")
	}
	if err == nil {
		err = c.ParseFlags(rest)
	}
	if err == nil {
		err = c.ValidateArgs(c.Flags().Args())
	}
	if err != nil {
		t.Errorf("messkit %s: %v", strings.Join(args, " "), err)
	}
}

// checkExchange checks the configuration of an exchange. Its files are other ones here.
func checkExchange(t *testing.T, text string) {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"tls.crt", "ca.crt"} {
		makeCertificate(t, dir, name)
	}
	if err := os.WriteFile(filepath.Join(dir, "exchange.nk"), []byte("SUAIGXM42MCYXDNBVWRPCDBF5E5NUKIDCIWL2BFCQNHFXADRJDMDA6GPIA\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	text = regexp.MustCompile(`/[a-z/-]+/(tls\.crt|tls\.key|ca\.crt|exchange\.nk)`).ReplaceAllString(text, dir+"/$1")
	c := &config.Config{Agent: config.DefaultAgent()}
	if err := c.Read("exchange.yaml", []byte(text)); err != nil {
		t.Errorf("%v\n%s", err, text)
		return
	}
	if err := c.Exchange.Validate(); err != nil || c.Exchange.NATS == nil || c.Exchange.NATS.Replicas != 3 || strings.Count(c.Exchange.NATS.URL, ",") != 2 || len(c.Exchange.NATS.Monitor) != 3 {
		t.Errorf("%v: %+v", err, c.Exchange.NATS)
	}
}

// makeCertificate makes a certificate that signs itself, with its key beside it.
func makeCertificate(t *testing.T, dir, name string) {
	t.Helper()
	file := filepath.Join(dir, name)
	c := exec.Command("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", "/CN=test", "-keyout", strings.TrimSuffix(file, ".crt")+".key", "-out", file)
	if out, err := c.CombinedOutput(); errors.Is(err, exec.ErrNotFound) {
		t.Skip("SKIP: openssl is not there (apt-get install openssl)")
	} else if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}

// checkServer has nats-server check its configuration, in which another test has replaced the files.
func checkServer(t *testing.T, text string, env ...string) {
	t.Helper()
	if !strings.Contains(text, "sync_interval: always") {
		t.Error("a power cut loses acknowledged steps: sync_interval is not always")
	}
	program, err := filepath.Abs("../bin/nats-server")
	if _, missing := os.Stat(program); err != nil || missing != nil {
		if program, err = exec.LookPath("nats-server"); err != nil {
			t.Log("SKIP: nats-server is not there (make bin/nats-server), so it does not check its configuration")
			return
		}
	}
	dir := t.TempDir()
	for _, name := range []string{"tls.crt", "ca.crt"} {
		makeCertificate(t, dir, name)
	}
	text = regexp.MustCompile(`/etc/nats-tls/`).ReplaceAllString(text, dir+"/")
	text = strings.ReplaceAll(text, "store_dir: /data", "store_dir: "+dir)
	text = strings.ReplaceAll(text, "../nats-accounts/", "")
	for name, content := range map[string]string{
		"nats.conf":     text,
		"accounts.conf": "accounts: {home: {jetstream: {max_file: 20GB, max_mem: 0}, users: [{nkey: UDU57HPGPBWPLGSCWQFN5LNJD4HQBKM4AN37U3SBPIBVDZ2X5EXEEARO}]}}\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c := exec.Command(program, "-t", "-c", filepath.Join(dir, "nats.conf"))
	c.Env = append(os.Environ(), env...)
	if out, err := c.CombinedOutput(); err != nil || !strings.Contains(string(out), "is valid") {
		t.Errorf("%v: %s\n%s", err, out, text)
	}
}

// The compose file is valid, its commands and configurations are those of messkit and nats-server, and each
// thing that a service names is there.
func TestComposeFile(t *testing.T) {
	data, err := os.ReadFile("testdata/compose-spec.json")
	if err != nil {
		t.Fatal(err)
	}
	doc := documents(t, "compose.yaml")[0]
	r := schema(t, data)
	if err := r.Validate(doc); err != nil {
		t.Fatal(err)
	}
	services, _ := doc["services"].(map[string]any)
	if len(services) != 6 {
		t.Errorf("%d services", len(services))
	}
	hosts := map[string]bool{}
	for name, service := range services {
		command := texts(at(service, "command"))
		if strings.HasPrefix(name, "exchange") {
			checkCommand(t, command)
			checkCommand(t, texts(at(service, "healthcheck", "test"))[2:])
			for _, port := range texts(at(service, "ports")) {
				host, inside, _ := strings.Cut(strings.TrimPrefix(port, "127.0.0.1:"), ":")
				if !strings.HasPrefix(port, "127.0.0.1:") || inside != "8420" || hosts[host] {
					t.Errorf("%s: port %s", name, port)
				}
				hosts[host] = true
			}
		} else if !slices.Contains(command, name) {
			t.Errorf("the server %s has the command %q", name, command)
		}
		for kind := range map[string]bool{"configs": true, "secrets": true} {
			list, _ := at(service, kind).([]any)
			for _, one := range list {
				if source := fmt.Sprint(at(one, "source")); at(doc, kind, source) == nil {
					t.Errorf("%s: there is no %s in %s", name, source, kind)
				}
			}
		}
		for _, volume := range texts(at(service, "volumes")) {
			volume, _, _ := strings.Cut(volume, ":")
			if all, _ := doc["volumes"].(map[string]any); all[volume] == nil {
				t.Errorf("%s: there is no volume %s", name, volume)
			}
		}
	}
	if len(hosts) != 3 {
		t.Errorf("ports %v", hosts)
	}
	checkExchange(t, fmt.Sprint(at(doc, "configs", "exchange", "content")))
	nats := strings.ReplaceAll(fmt.Sprint(at(doc, "configs", "nats", "content")), "$$", "$")
	checkServer(t, nats, "EXCHANGE_NKEY=UDU57HPGPBWPLGSCWQFN5LNJD4HQBKM4AN37U3SBPIBVDZ2X5EXEEARO")
	at(doc, "services", "nats1").(map[string]any)["portz"] = []any{"1:1"} // the schema can fail
	if err := r.Validate(doc); err == nil {
		t.Error("an unknown key is valid")
	}
}

// kubernetesSchema returns the schema of a kind.
func kubernetesSchema(t *testing.T, kind string) *jsonschema.Resolved {
	t.Helper()
	data, err := os.ReadFile("testdata/kubernetes.json")
	if err != nil {
		t.Fatal(err)
	}
	var all struct {
		Kinds map[string]map[string]any `json:"kinds"`
		Defs  json.RawMessage           `json:"$defs"`
	}
	if err := json.Unmarshal(data, &all); err != nil {
		t.Fatal(err)
	}
	if all.Kinds[kind] == nil {
		t.Fatalf("testdata has no schema of %s", kind)
	}
	text, err := json.Marshal(map[string]any{"$ref": all.Kinds[kind]["$ref"], "$defs": all.Defs})
	if err != nil {
		t.Fatal(err)
	}
	return schema(t, text)
}

// Each manifest is valid. Each volume, port and selector leads to something, and the commands and
// configurations are those of messkit and nats-server.
func TestKubernetesManifests(t *testing.T) {
	all := documents(t, "kubernetes.yaml")
	named := map[string]map[string]any{}
	for _, doc := range all {
		kind := fmt.Sprint(doc["apiVersion"], "/", doc["kind"])
		if err := kubernetesSchema(t, kind).Validate(doc); err != nil {
			t.Errorf("%s %v: %v", kind, at(doc, "metadata", "name"), err)
		}
		named[fmt.Sprint(doc["kind"], "/", at(doc, "metadata", "name"))] = doc
	}
	if len(named) != len(all) || len(all) != 10 {
		t.Errorf("%d manifests, %d names", len(all), len(named))
	}
	for _, name := range []string{"nats", "messkit"} {
		set := named["StatefulSet/"+name]
		checkSet(t, name, set, named)
		if is := at(named["PodDisruptionBudget/"+name], "spec", "selector", "matchLabels", "app"); is != name || at(named["PodDisruptionBudget/"+name], "spec", "maxUnavailable") != 1.0 {
			t.Errorf("the budget of %s is for %v", name, is)
		}
		service := named[fmt.Sprint("Service/", at(set, "spec", "serviceName"))]
		if at(service, "spec", "clusterIP") != "None" || at(service, "spec", "selector", "app") != name {
			t.Errorf("the service of %s: %v", name, service)
		}
	}
	container := at(named["StatefulSet/messkit"], "spec", "template", "spec", "containers", 0)
	checkCommand(t, texts(at(container, "args")))
	for probe, path := range map[string]string{"startupProbe": "/healthz", "readinessProbe": "/readyz", "livenessProbe": "/healthz"} {
		if at(container, probe, "httpGet", "path") != path || at(container, probe, "httpGet", "scheme") != "HTTPS" {
			t.Errorf("%s: %v", probe, at(container, probe))
		}
	}
	checkExchange(t, fmt.Sprint(at(named["ConfigMap/messkit"], "data", "exchange.yaml")))
	checkServer(t, fmt.Sprint(at(named["ConfigMap/nats"], "data", "nats.conf")), "POD_NAME=nats-0")
	set := named["StatefulSet/nats"]
	set["spec"].(map[string]any)["replica"] = 3.0 // the schema can fail
	if err := kubernetesSchema(t, "apps/v1/StatefulSet").Validate(set); err == nil {
		t.Error("an unknown field is valid")
	}
}

// checkSet checks the names in a set of three pods.
func checkSet(t *testing.T, name string, set map[string]any, named map[string]map[string]any) {
	t.Helper()
	pod := at(set, "spec", "template", "spec")
	anti := at(pod, "affinity", "podAntiAffinity", "requiredDuringSchedulingIgnoredDuringExecution", 0)
	if at(set, "spec", "replicas") != 3.0 || at(set, "spec", "selector", "matchLabels", "app") != name || at(set, "spec", "template", "metadata", "labels", "app") != name ||
		at(anti, "labelSelector", "matchLabels", "app") != name || at(anti, "topologyKey") != "kubernetes.io/hostname" {
		t.Errorf("%s: the pods or their nodes: %v", name, anti)
	}
	volumes := map[string]bool{fmt.Sprint(at(set, "spec", "volumeClaimTemplates", 0, "metadata", "name")): true}
	list, _ := at(pod, "volumes").([]any)
	for _, v := range list {
		volumes[fmt.Sprint(at(v, "name"))] = true
		if c, is := at(v, "configMap", "name").(string); is && named["ConfigMap/"+c] == nil {
			t.Errorf("%s: there is no ConfigMap %s", name, c)
		}
	}
	container := at(pod, "containers", 0)
	mounts, _ := at(container, "volumeMounts").([]any)
	for _, m := range mounts {
		if v := fmt.Sprint(at(m, "name")); !volumes[v] {
			t.Errorf("%s: there is no volume %s", name, v)
		}
		delete(volumes, fmt.Sprint(at(m, "name")))
	}
	if len(volumes) > 0 {
		t.Errorf("%s: nothing mounts %v", name, volumes)
	}
	ports := map[any]bool{}
	open, _ := at(container, "ports").([]any)
	for _, p := range open {
		ports[at(p, "name")] = true
	}
	for _, probe := range []string{"startupProbe", "readinessProbe", "livenessProbe"} {
		if !ports[at(container, probe, "httpGet", "port")] {
			t.Errorf("%s: %s has no port", name, probe)
		}
	}
	for _, limit := range []string{"cpu", "memory"} {
		if at(container, "resources", "requests", limit) == nil {
			t.Errorf("%s: it requests no %s", name, limit)
		}
	}
	if at(container, "resources", "limits", "memory") == nil || at(container, "securityContext", "readOnlyRootFilesystem") != true || at(pod, "securityContext", "runAsNonRoot") != true {
		t.Errorf("%s: limits and rights: %v", name, container)
	}
}

// The image has what make build makes, and starts a command of messkit.
func TestDockerfile(t *testing.T) {
	data, err := os.ReadFile("Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	makefile, err := os.ReadFile("../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	known := strings.Fields("FROM RUN ARG COPY ENV USER VOLUME EXPOSE ENTRYPOINT CMD")
	lines := map[string][]string{}
	for line := range strings.Lines(string(data)) {
		word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		if word == "" || strings.HasPrefix(word, "#") {
			continue
		}
		if !slices.Contains(known, word) {
			t.Errorf("%s is unknown", word)
		}
		lines[word] = append(lines[word], rest)
	}
	if from := lines["FROM"]; len(from) != 2 || from[1] != "scratch" {
		t.Errorf("FROM %q", from)
	}
	for _, one := range lines["COPY"] {
		if source, to, _ := strings.Cut(one, " "); !strings.HasPrefix(one, "--from=files ") && to != "/messkit" {
			t.Errorf("COPY %s", one)
		} else if to == "/messkit" && !strings.Contains(string(makefile), strings.ReplaceAll(source, "${TARGETARCH}", "amd64")) {
			t.Errorf("make builds no %s", source)
		}
	}
	var entry, command []string
	if err := errors.Join(json.Unmarshal([]byte(lines["ENTRYPOINT"][0]), &entry), json.Unmarshal([]byte(lines["CMD"][0]), &command)); err != nil || !slices.Equal(entry, []string{"/messkit"}) {
		t.Fatalf("%v: %q %q", err, entry, command)
	}
	checkCommand(t, command)
}
