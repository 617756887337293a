package daemon

import "github.com/messkit/messkit/internal/resources"

// filesSetting names the settings that raise the limit of open files.
const filesSetting = "LimitNOFILE= of the service, or ulimit -n"

// limits returns the use of each limit of the exchange.
func (e *OwnExchange) limits() []resources.Use {
	list := e.server.Connections()
	if e.mqtt != nil && e.mqtt.own != nil {
		list = append(list, e.mqtt.own.Use())
	}
	if n, ok := resources.OpenFiles(); ok {
		list = append(list, resources.Use{What: "open files", Setting: filesSetting, Now: n, Limit: resources.Of().Files})
	}
	return list
}
