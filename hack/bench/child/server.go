package child

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/rpc"
	"net/rpc/jsonrpc"
	"syscall"
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
	io.Writer
	close func() error
}

// Close ends the connection.
func (p pipe) Close() error { return p.close() }

// Serve starts a program that answers JSON-RPC calls. It replaces Stdin and Stdout of the Spec with a connection for the calls.
func Serve(s Spec) (*Server, error) {
	commands, to := io.Pipe()
	from, answers := io.Pipe()
	s.Stdin, s.Stdout = commands, answers
	c, err := Start(s)
	if err != nil {
		return nil, err
	}
	go func() {
		<-c.Exited()
		answers.Close()
	}()
	return &Server{c, jsonrpc.NewClient(pipe{from, to, to.Close})}, nil
}

// Call calls a method. If the program has ended, the error contains the end of its output.
func (s *Server) Call(ctx context.Context, method string, command, answer any) error {
	var err error
	select {
	case called := <-s.client.Go(service+"."+method, command, answer, nil).Done:
		err = called.Error
	case <-s.Exited():
		err = fmt.Errorf("the process ended: %w\n%s", s.err, s.tail())
	case <-ctx.Done():
		err = ctx.Err()
	}
	if err != nil {
		return fmt.Errorf("call %s: %w", s.Name, err)
	}
	return nil
}

// Close stops the program.
func (s *Server) Close() error { return errors.Join(s.client.Close(), s.Stop(syscall.SIGTERM)) }

// Offer serves the methods of a receiver until stdin ends. A Go program that is started with Serve calls Offer in its main function.
func Offer(receiver any, stdin io.Reader, stdout io.Writer) error {
	server := rpc.NewServer()
	if err := server.RegisterName(service, receiver); err != nil {
		return fmt.Errorf("offer %T: %w", receiver, err)
	}
	server.ServeCodec(jsonrpc.NewServerCodec(pipe{stdin, stdout, func() error { return nil }}))
	return nil
}
