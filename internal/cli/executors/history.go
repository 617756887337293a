package executors

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/messkit/messkit/exchange/remote/httpclient"
	"github.com/messkit/messkit/internal/cli/client"
	"github.com/messkit/messkit/internal/cli/output"
)

// chartWidth is the width of a chart, in characters.
const chartWidth = 48

// longest is the time for which an exchange keeps readings.
const longest = 30 * 24 * time.Hour

// HistoryCommand returns the command messkit history.
func HistoryCommand(a *output.Env) *cobra.Command {
	var (
		days     int
		quantity string
		asJSON   bool
	)
	c := &cobra.Command{
		Use:   "history DEVICE",
		Short: "Show the readings of a device over time",
		Long: `History shows a chart of each quantity that a device reports: of the last 24 hours,
or of up to 30 days. A space is a time without a reading. DEVICE is EXECUTOR:DEVICE
as messkit devices shows it, or DEVICE alone if only one executor has it.`,
		Example: "  messkit history living-room-climate\n  messkit history living-room-climate --days 7 --quantity humidity",
		Args:    cobra.ExactArgs(1),
	}
	client.Command(c, func(ctx context.Context, x *httpclient.Client, args []string) error {
		if days < 1 || days > int(longest/(24*time.Hour)) {
			return fmt.Errorf("--days: %d is out of range; write 1 to 30", days)
		}
		now := time.Now()
		from := now.Add(-time.Duration(days) * 24 * time.Hour)
		if days == 1 {
			from = from.Add(time.Minute) // within the time of the minutes
		}
		h, err := x.History(ctx, args[0], from)
		if err != nil {
			return err
		}
		if quantity != "" {
			h.Quantities = slices.DeleteFunc(h.Quantities, func(q httpclient.QuantityHistory) bool { return q.Quantity != quantity })
		}
		if asJSON {
			return a.JSON(h)
		}
		return printHistory(a, h, from, now)
	})
	c.Flags().IntVar(&days, "days", 1, "number of days, at most 30")
	c.Flags().StringVar(&quantity, "quantity", "", "only this quantity, such as temperature")
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

func printHistory(a *output.Env, h httpclient.History, from, to time.Time) error {
	if len(h.Quantities) == 0 {
		_, err := fmt.Fprintf(a.Out, "%s: no reading since %s\n", output.Printable(h.Device), from.Local().Format("2006-01-02 15:04"))
		return err
	}
	return a.PrintColumns(func(p *output.Printer) {
		p.Printf("QUANTITY\tLAST\tLEAST\tGREATEST\t%s\n", axis(from, to))
		for _, q := range h.Quantities {
			if len(q.Points) == 0 {
				continue
			}
			least, greatest := math.Inf(1), math.Inf(-1)
			for _, one := range q.Points {
				least, greatest = min(least, one.Min), max(greatest, one.Max)
			}
			value := func(v float64) string {
				return output.Printable(strings.TrimSpace(strconv.FormatFloat(v, 'g', 6, 64) + " " + q.Unit))
			}
			p.Printf("%s\t%s\t%s\t%s\t%s\n", output.Printable(q.Quantity), value(q.Points[len(q.Points)-1].Last), value(least), value(greatest), chart(q.Points, from, to))
		}
	})
}

// axis names the two ends of a chart.
func axis(from, to time.Time) string {
	layout := "15:04"
	if to.Sub(from) > 24*time.Hour {
		layout = "2006-01-02"
	}
	begin, end := from.Local().Format(layout), to.Local().Format(layout)
	return begin + strings.Repeat(" ", chartWidth-len(begin)-len(end)) + end
}

// bars are the characters of a chart, the lowest first.
var bars = []rune("▁▂▃▄▅▆▇█")

// chart draws the points from a time to another one. Each character has the last value of its time.
func chart(points []httpclient.Point, from, to time.Time) string {
	low, high := math.Inf(1), math.Inf(-1)
	for _, p := range points {
		low, high = min(low, p.Last), max(high, p.Last)
	}
	line := slices.Repeat([]rune{' '}, chartWidth)
	for _, p := range points {
		i := int(float64(chartWidth) * float64(p.At.Sub(from)) / float64(to.Sub(from)))
		level := 0
		if high > low {
			level = int((p.Last - low) / (high - low) * float64(len(bars)-1))
		}
		line[min(max(i, 0), chartWidth-1)] = bars[level]
	}
	return string(line)
}
