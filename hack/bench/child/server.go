package child

import (
	"errors"
	"fmt"
	"io"
	"net/rpc"
	"net/rpc/jsonrpc"
	"syscall"
	"testing"
)

// Server is a started program that processes JSON-RPC calls over its standard input and output.
type Server struct {
	*Child
	client *rpc.Client
}

// service is the name under which Offer registers its receiver.
const service = "Server"

// pipe is a connection that consists of a reader and a writer.
type pipe struct {
	io.Reader
	io.WriteCloser
}

// Serve starts a program that answers JSON-RPC calls. It replaces Stdin and Stdout of the Spec with a connection for the calls.
func Serve(tb testing.TB, s Spec) *Server {
	tb.Helper()
	commands, to := io.Pipe()
	from, answers := io.Pipe()
	s.Stdin, s.Stdout = commands, answers
	c := Start(tb, s)
	go func() {
		<-c.exited
		answers.Close()
	}()
	return &Server{c, jsonrpc.NewClient(pipe{from, to})}
}

// Call calls a method.
func (s *Server) Call(tb testing.TB, method string, command, answer any) {
	tb.Helper()
	if err := s.client.Call(service+"."+method, command, answer); err != nil {
		tb.Fatalf("call %s: %v\n%s", s.Name, err, s.tail())
	}
}

// Close stops the program. It ends the input first, because the program counts as running until its input has ended.
func (s *Server) Close(tb testing.TB) {
	tb.Helper()
	if err := s.client.Close(); err != nil && !errors.Is(err, rpc.ErrShutdown) {
		tb.Fatal(err)
	}
	s.Stop(tb, syscall.SIGTERM)
}

// Offer serves the methods of a receiver until stdin ends. A Go program that is started with Serve calls Offer in its main function.
func Offer(receiver any, stdin io.Reader, stdout io.WriteCloser) error {
	server := rpc.NewServer()
	if err := server.RegisterName(service, receiver); err != nil {
		return fmt.Errorf("offer %T: %w", receiver, err)
	}
	server.ServeCodec(jsonrpc.NewServerCodec(pipe{stdin, stdout}))
	return nil
}
