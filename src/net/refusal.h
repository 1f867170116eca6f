// What a peer is told whose request was not understood, or not taken, before anybody could look at what it asks for.
#pragma once

#include "ports/http.h"

namespace drover {

/// A problem as RFC 9457 wants it, for a status that the connection itself gives.
HttpResponse refusal(int status);

/// For a peer that speaks plain HTTP where TLS is spoken.
HttpResponse refusal_of_plain_http();

}  // namespace drover
