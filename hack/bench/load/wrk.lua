-- Sends the URLs of the file in the first argument, each once, and reports the result as one line of JSON. Without a file, wrk sends
-- its own request again and again, and calls no Lua for it.

local ffi = require("ffi")
ffi.cdef [[
  typedef struct { long sec; long nsec; } vitrine_time;
  int clock_gettime(int clock, vitrine_time *now);
]]
local monotonic, now = 1, ffi.new("vitrine_time")

local function seconds()
  ffi.C.clock_gettime(monotonic, now)
  return tonumber(now.sec) + tonumber(now.nsec) / 1e9
end

local worker, list, sent, began = nil, {}, 0, 0

function setup(thread)
  worker = thread
end

function init(args)
  if #args == 0 then return end
  for url in io.lines(args[1]) do list[#list + 1] = wrk.format("GET", url:match("^http://[^/]+(.*)$")) end
  function request()
    sent = sent + 1
    if sent == 2 then began = seconds() end -- wrk requests the first one only to check it
    if sent == #list + 2 then
      elapsed = seconds() - began
      wrk.thread:stop()
    end
    return list[(sent - 2) % #list + 1]
  end
end

function done(summary, latency)
  local e = summary.errors
  io.write(string.format('\n{"requests": %d, "seconds": %.6f, "failed": %d, "quantiles": [%d, %d, %d]}\n', summary.requests,
    worker:get("elapsed") or summary.duration / 1e6, e.connect + e.read + e.write + e.status + e.timeout,
    latency:percentile(50), latency:percentile(95), latency:percentile(99)))
end
