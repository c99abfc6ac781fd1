// A worker in Deno, as a single tenant without an isolate of its own: deno run --allow-net deno.mjs <hello|json> <port>
import hello from '../workers/hello.js';
import json from '../workers/json.js';

const [scenario, port] = Deno.args;
Deno.serve({ hostname: '127.0.0.1', port: Number(port), onListen() {} }, scenario === 'json' ? json.fetch : hello.fetch);
