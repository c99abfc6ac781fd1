// Loaded before a process's own code (`--import`), and by it into the processes that it starts: keeps which module
// imports which, for loaded.bench.ts.
import processes from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { registerHooks, syncBuiltinESMExports } from 'node:module';
import path from 'node:path';

const EVERY_MS = 2000;
const { LOADED_FOLDER, NODE_OPTIONS } = process.env;
const edges = [];
let written = 0;

registerHooks({
  resolve(specifier, context, next) {
    const found = next(specifier, context);
    edges.push([context.parentURL ?? '', found.url]);
    return found;
  },
});

// The supervisor gives its processes chosen variables only.
for (const name of ['spawn', 'fork']) {
  const start = processes[name];
  processes[name] = (program, words, options) => {
    const own = Array.isArray(words) ? options : words;
    const env = { ...(own?.env ?? process.env), LOADED_FOLDER, NODE_OPTIONS };
    return start(program, Array.isArray(words) ? words : [], { ...own, env });
  };
}
syncBuiltinESMExports();

// Not at its end alone: processes of the platform are also killed.
function write() {
  if (edges.length === written) return;
  written = edges.length;
  writeFileSync(path.join(LOADED_FOLDER, `${process.pid}.json`), JSON.stringify(edges));
}
setInterval(write, EVERY_MS).unref();
process.on('exit', write);
