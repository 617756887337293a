package httpapi

// Routes returns all routes of a server, as METHOD PATH.
func Routes() []string {
	var list []string
	for _, r := range openRoutes {
		list = append(list, r.method+" "+r.path)
	}
	for _, r := range routes {
		list = append(list, r.method+" "+base+"{exchange}/"+r.path)
	}
	for _, r := range homeRoutes {
		list = append(list, r.method+" "+homePrefix+r.path)
	}
	return list
}

// NoStreams waits until all streams on hijacked connections have ended.
func (d *Server) NoStreams() { d.streams.Wait() }
