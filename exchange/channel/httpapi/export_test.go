package httpapi

// Routes are all routes of a door, as METHOD PATH.
func Routes() []string {
	var list []string
	for _, r := range openRoutes {
		list = append(list, r.method+" "+r.path)
	}
	for _, r := range routes {
		list = append(list, r.method+" "+base+"{exchange}/"+r.path)
	}
	return list
}

// NoStreams waits until no connection that was taken over is left.
func (d *Server) NoStreams() { d.streams.Wait() }
