package cluster

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/messkit/messkit/internal/config"
	"github.com/messkit/messkit/internal/freeport"
)

// servers writes the configuration of each NATS server. The ports are free ones; its name and its
// folder identify a server after a restart.
func (c Config) servers() (all []*part, err error) {
	var routes, addresses, monitors []string
	for _, list := range []*[]string{&routes, &addresses, &monitors} {
		for range c.Nodes {
			one, err := freeport.Address("127.0.0.1")
			if err != nil {
				return nil, err
			}
			*list = append(*list, one)
		}
	}
	for i := range c.Nodes {
		dir := filepath.Join(c.Dir, fmt.Sprintf("nats%d", i+1))
		conf := filepath.Join(dir, "nats.conf")
		text := fmt.Sprintf("server_name: n%d\nlisten: %q\nhttp: %q\njetstream: {store_dir: %q, sync_interval: always}\ncluster: {name: trial, listen: %q, routes: [\"nats://%s\"]}\n",
			i+1, addresses[i], monitors[i], dir, routes[i], strings.Join(routes, `", "nats://`))
		if err := write(conf, text); err != nil {
			return nil, err
		}
		s := newPart(fmt.Sprintf("nats-server %d", i+1), dir, "nats-server", c.Server, "-c", conf)
		s.address, s.monitor = "nats://"+addresses[i], "http://"+monitors[i]
		s.isReady = func(ctx context.Context) bool { return isHealthy(ctx, s.monitor) }
		all = append(all, s)
	}
	return all, nil
}

// isHealthy asks a server for its health.
func isHealthy(ctx context.Context, monitor string) bool {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, monitor+"/healthz", nil)
	if err != nil {
		return false
	}
	answer, err := http.DefaultClient.Do(req)
	if err != nil {
		return false
	}
	return answer.Body.Close() == nil && answer.StatusCode == http.StatusOK
}

// nodes writes the configuration of each exchange.
func (c Config) nodes(servers []*part) (all []*part, err error) {
	var urls, monitors []string
	for _, s := range servers {
		urls, monitors = append(urls, s.address), append(monitors, s.monitor)
	}
	for i := range c.Nodes {
		listen, err := c.listen(i)
		if err != nil {
			return nil, err
		}
		dir := filepath.Join(c.Dir, fmt.Sprintf("node%d", i+1))
		conf := filepath.Join(dir, "exchange.yaml")
		text := fmt.Sprintf("exchange:\n  id: %s\n  listen: %q\n  data: %q\n  mqtt: {listen: off}\n  webhooks: {allow: [127.0.0.0/8]}\n  store:\n    url: %q\n    replicas: %d\n    monitor: [\"%s\"]\n",
			ExchangeID, listen, dir, strings.Join(urls, ","), c.Nodes, strings.Join(monitors, `", "`))
		if err := write(conf, text); err != nil {
			return nil, err
		}
		n := newPart(fmt.Sprintf("node %d", i+1), dir, "messkit", c.Program, "exchange", "--config", conf)
		n.address = "http://" + listen
		n.isReady = func(context.Context) bool { return bytes.Contains(n.printed(), []byte("exchange "+ExchangeID+" at ")) }
		all = append(all, n)
	}
	return all, nil
}

// listen returns the address of an exchange.
func (c Config) listen(i int) (string, error) {
	host, port, err := net.SplitHostPort(c.Listen)
	if err != nil {
		return "", err
	}
	n, err := strconv.Atoi(port)
	if err != nil || n == 0 {
		return freeport.Address(host)
	}
	return net.JoinHostPort(host, strconv.Itoa(n+i)), nil
}

// keyFile returns the file with the operator's key of an exchange.
func (p *part) keyFile() string { return filepath.Join(p.dir, "operator.key") }

// executorID is the id of the executor that a person can add.
const executorID = "trial-pi"

func (c Config) executorFile() string { return filepath.Join(c.Dir, "executor.yaml") }
func (c Config) executorKey() string  { return filepath.Join(c.Dir, "executor.key") }

// writeExecutor writes the configuration of an executor with the devices of the simulated home, which
// connects to all nodes.
func (c Config) writeExecutor(nodes []*part) error {
	var urls []string
	for _, n := range nodes {
		urls = append(urls, n.address)
	}
	text := fmt.Sprintf("connect:\n  url: %q\n  key_file: %q\nagent:\n  id: %s\n  data: %q\n%s",
		strings.Join(urls, ","), c.executorKey(), executorID, filepath.Join(c.Dir, "executor"), config.SimulatedHome)
	return write(c.executorFile(), text)
}
