// A worker in Bun, as a single tenant without an isolate of its own: bun bun.mjs <hello|json> <port>
import hello from '../workers/hello.js';
import json from '../workers/json.js';

const [scenario, port] = process.argv.slice(2);
Bun.serve({ hostname: '127.0.0.1', port: Number(port), fetch: scenario === 'json' ? json.fetch : hello.fetch });
