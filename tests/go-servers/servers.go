// Package servers has the routers of others with a limit of ours.
package servers

import (
	"net/http"

	"github.com/gin-gonic/gin"
	"github.com/go-chi/chi/v5"
	"github.com/labstack/echo/v4"

	"paddlegate"
)

// onChi serves a handler by chi.
func onChi(limit *paddlegate.RequestLimit, handler http.HandlerFunc) http.Handler {
	chiRouter := chi.NewRouter()
	chiRouter.With(limit.Handler).Get("/posts", handler)
	return chiRouter
}

// onEcho serves a handler by echo.
func onEcho(limit *paddlegate.RequestLimit, handler http.HandlerFunc) http.Handler {
	echoServer := echo.New()
	posts := echo.WrapHandler(handler)
	echoServer.GET("/posts", posts, echo.WrapMiddleware(limit.Handler))
	return echoServer
}

// onGin serves a handler by gin.
func onGin(limit *paddlegate.RequestLimit, handler http.HandlerFunc) http.Handler {
	ginEngine := gin.New()
	posts := gin.WrapF(handler)
	ginEngine.GET("/posts", limited(limit), posts)
	return ginEngine
}

func limited(limit *paddlegate.RequestLimit) gin.HandlerFunc {
	return func(c *gin.Context) {
		granted := false
		limit.Handler(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
			granted = true
			c.Next()
		})).ServeHTTP(c.Writer, c.Request)
		if !granted {
			c.Abort()
		}
	}
}
