package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"regexp"
	"runtime/debug"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/messkit/messkit/internal/cli/output"
	"github.com/messkit/messkit/internal/daemon"
	"github.com/messkit/messkit/internal/durable"
	"github.com/messkit/messkit/internal/picture"
)

func pictureCommand(a *output.Env) *cobra.Command {
	c := &cobra.Command{
		Use:     "picture COMMAND",
		Short:   "Process images",
		Long:    `Picture processes image files in the same way as executors process their images.`,
		Example: "  messkit picture fit photo.jpg small.jpg",
		Args:    cobra.NoArgs,
	}
	c.AddCommand(pictureFitCommand(a))
	return c
}

func pictureFitCommand(a *output.Env) *cobra.Command {
	var most, frame string
	var maxPx int
	var explain bool
	c := &cobra.Command{
		Use:   "fit IN OUT",
		Short: "Compress an image to a number of bytes",
		Long: `Fit writes the best image of at most so many bytes, upright and without metadata. It
reads JPEG, PNG, GIF, WebP, BMP, TIFF and raw frames. The output is a JPEG; it is a
PNG if the input is a PNG that fits already, or a drawing. The first line of the
output names the format. A - stands for standard input or output.`,
		Example: `  messkit picture fit photo.jpg small.jpg --max 500KB --explain
  messkit picture fit frame.bin small.jpg --frame yuyv:640x480`,
		Args: cobra.ExactArgs(2),
		RunE: func(c *cobra.Command, args []string) error {
			lim := picture.Limits{MaxPx: maxPx}
			var err error
			if lim.MaxBytes, err = daemon.ParseSize(most); err != nil {
				return output.Usagef(c, "--max: %w", err)
			}
			f, err := parseFrame(frame)
			if err != nil {
				return output.Usagef(c, "--frame: %w", err)
			}
			return fitFile(c.Context(), a, args[0], args[1], f, lim, explain)
		},
	}
	f := c.Flags()
	f.StringVar(&most, "max", "500KB", "most bytes; KB are 1,024")
	f.IntVar(&maxPx, "max-px", 0, "most pixels along the longer edge; 0: as many as look best")
	f.StringVar(&frame, "frame", "", "IN is a raw frame: LAYOUT:WIDTHxHEIGHT, with yuyv, nv12 or rgb")
	f.BoolVar(&explain, "explain", false, "print the reason of every choice")
	return c
}

// fitGCPercent keeps memory small: the program allocates few large blocks.
const fitGCPercent = 10

// fitFile scales the image in one file to the limits, and writes it to another.
func fitFile(ctx context.Context, a *output.Env, in, out string, f *picture.Frame, lim picture.Limits, explain bool) error {
	debug.SetGCPercent(fitGCPercent)
	data, err := readPicture(a, in)
	if err != nil {
		return err
	}
	var p picture.Picture
	if f != nil {
		f.Data = data
		p, err = picture.FitFrame(ctx, *f, lim)
	} else {
		p, err = picture.Fit(ctx, data, lim)
	}
	if err != nil {
		return err
	}
	summary := a.Out
	if out == "-" {
		summary = a.Err
		if _, err := a.Raw.Write(p.Data); err != nil {
			return err
		}
	} else if err := durable.Replace(out, p.Data); err != nil {
		return err
	}
	pr := output.Printer{Out: summary}
	pr.Printf("%s: %s, %d x %d pixels, %d bytes\n", out, p.MIME, p.Width, p.Height, len(p.Data))
	if explain {
		pr.Printf("%s", p.Explain)
		for _, change := range p.Changes {
			pr.Printf("%-10s %s\n", "did", change)
		}
	}
	if s := shows(p.Statistics); s != "" {
		pr.Printf("%s\n", s)
	}
	return pr.Err
}

// shows returns a warning for an image without visible content.
func shows(s picture.Statistics) string {
	switch {
	case s.Black:
		return "it is black: a covered lens, or no light"
	case s.Flat:
		return "it is all of one brightness: a placeholder, or a fault"
	case s.Page:
		return "it looks like a page that a camera server has drawn: words or signs on a plain ground"
	}
	return ""
}

// mostPicture is the most that fitFile reads, in bytes: the largest raw frame.
const mostPicture = 3*picture.MaxPixels + 1

func readPicture(a *output.Env, name string) ([]byte, error) {
	r := a.In
	if name != "-" {
		if info, err := os.Stat(name); err == nil && info.Mode().IsRegular() && info.Size() < mostPicture {
			return os.ReadFile(name) // needs no more memory than its size
		}
		f, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		r = f
	}
	data, err := io.ReadAll(io.LimitReader(r, mostPicture))
	if err == nil && len(data) == mostPicture {
		err = fmt.Errorf("%s: more than %d MB; send a smaller picture", name, mostPicture>>20)
	}
	return data, err
}

var frameForm = regexp.MustCompile(`^(yuyv|nv12|rgb):([0-9]{1,6})x([0-9]{1,6})$`)

// parseFrame reads the layout of a raw frame; nil: the file is no raw frame.
func parseFrame(s string) (*picture.Frame, error) {
	if s == "" {
		return nil, nil
	}
	m := frameForm.FindStringSubmatch(s)
	if m == nil {
		return nil, fmt.Errorf("%q is no frame; write it like yuyv:640x480 (yuyv, nv12 or rgb)", s)
	}
	f := &picture.Frame{Layout: picture.Layout(m[1])}
	var err error
	if f.Width, err = strconv.Atoi(m[2]); err != nil {
		return nil, err
	}
	f.Height, err = strconv.Atoi(m[3])
	return f, err
}
