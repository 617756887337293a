package mqtt_test

import (
	"io"
	"net"

	"github.com/eclipse/paho.mqtt.golang/packets"
)

// rawExecutor connects an executor that costs this process only a socket, because the test
// measures the other side.
func rawExecutor(h *harness, id string) error {
	conn, err := net.Dial("tcp", h.addr)
	if err != nil {
		return err
	}
	h.Cleanup(func() { _ = conn.Close() })
	c := packets.NewControlPacket(packets.Connect).(*packets.ConnectPacket)
	c.ProtocolName, c.ProtocolVersion, c.ClientIdentifier, c.CleanSession, c.Keepalive = "MQTT", 4, id, true, 300
	if err := c.Write(conn); err != nil {
		return err
	}
	if _, err := packets.ReadPacket(conn); err != nil {
		return err
	}
	s := packets.NewControlPacket(packets.Subscribe).(*packets.SubscribePacket)
	s.MessageID, s.Topics, s.Qoss = 1, []string{root + "e/" + id + "/in", root + "e/" + id + "/now"}, []byte{1, 1}
	if err := s.Write(conn); err != nil {
		return err
	}
	for topic, text := range map[string]string{
		"status": `{"state":"ready","epoch":1}`,
		"out":    `{"id":"r","MESS":[{"config":{"executor":{"id":"` + id + `","capabilities":["do-` + id + `"],"holding":[]}}}]}`,
	} {
		p := packets.NewControlPacket(packets.Publish).(*packets.PublishPacket)
		p.TopicName, p.Payload, p.Retain = root+"e/"+id+"/"+topic, []byte(text), topic == "status"
		if err := p.Write(conn); err != nil {
			return err
		}
	}
	go func() { _, _ = io.Copy(io.Discard, conn) }() // it ends with the connection
	return nil
}
