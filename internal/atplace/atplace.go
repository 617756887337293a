// Package atplace is how one program on a machine asks another of the same user
// something, by the data folder that the other works in. Its sockets are on no
// disk, so that they work where none can be written.
//
// It knows neither what is asked nor what is answered.
package atplace
