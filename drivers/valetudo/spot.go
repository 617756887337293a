package valetudo

import (
	"context"
	"errors"
	"math"
	"net/http"

	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/drivers/httpclient"
)

// spotEdge is the edge length of a spot in cm, as for the spot button of robots.
const spotEdge = 150

// CleanSpot cleans around the position of the robot on its map; in the dock that is the floor in
// front of it. Valetudo has no spots, so this is a zone of the map.
func (v *Vacuum) CleanSpot(ctx context.Context, progress func(drivers.Progress)) error {
	return v.run(ctx, "cleaning the spot", v.spot, progress)
}

// spot returns the command, or an error if the robot cannot accept it now.
func (v *Vacuum) spot(ctx context.Context) (cleanTask, error) {
	if err := v.free(ctx); err != nil {
		return cleanTask{}, err
	}
	f, err := v.readFloor(ctx)
	var x, y float64
	if err == nil {
		x, y, err = f.robot()
	}
	if err != nil {
		return cleanTask{}, drivers.MarkNothingDone(err)
	}
	zone := map[string]any{"points": corners(x, y), "iterations": v.cfg.Passes}
	return cleanTask{zonesPath, map[string]any{"action": "clean", "zones": []any{zone}}, spotEdge * spotEdge}, nil
}

// robot returns the position of the robot in cm.
func (f floor) robot() (x, y float64, err error) {
	for _, e := range f.Entities {
		if e.Type == "robot_position" && len(e.Points) >= 2 {
			return e.Points[0], e.Points[1], nil
		}
	}
	return 0, 0, errors.New("the map does not contain the position of the robot; ask for a room")
}

// corners returns the corners of the spot in Valetudo's order: clockwise from the upper
// left.
func corners(x, y float64) map[string]any {
	at := func(right, down float64) map[string]any {
		return map[string]any{"x": math.Round(x + right*spotEdge/2), "y": math.Round(y + down*spotEdge/2)}
	}
	return map[string]any{"pA": at(-1, -1), "pB": at(1, -1), "pC": at(1, 1), "pD": at(-1, 1)}
}

// zoneError replaces the error of a robot without zone cleaning.
func zoneError(err error) error {
	if s, ok := errors.AsType[*httpclient.StatusError](err); ok && s.Status == http.StatusNotFound {
		return drivers.MarkNothingDone(errors.New("this robot cannot clean spots, because it has no ZoneCleaningCapability; ask for a room"))
	}
	return err
}
