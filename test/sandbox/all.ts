// Started by `npm test -- sandbox`: for Docker and for podman an engine of its own, and the files of this folder over
// it. Says why where one cannot run; with CI=true that is a failure. `-- podman attacks` picks an engine and files.
import { once } from 'node:events';
import { globSync } from 'node:fs';
import { createServer } from 'node:net';
import path from 'node:path';
import { runTestFiles } from '#cli/tasks/suites/test-files.ts';
import { refuses } from '#cli/tasks/suites/words.ts';
import { root } from '#cli/tasks/tools/processes.ts';
import {
  noSandboxEngineReason,
  startSandboxEngine,
  type SandboxEngine,
  type SandboxEngineKind,
} from '#test/setup/sandbox-engine.ts';

const KINDS: readonly SandboxEngineKind[] = ['docker', 'podman'];

/**
 * Files that run over one engine where none is named: what they show is the platform's own affair, behind the calls of
 * an engine that the others hold to both. Those that are not here run over both.
 */
const onlyOver: Readonly<Record<string, SandboxEngineKind>> = {
  // Requests through the channel of a container: `contract` and `attacks` have it over both.
  'ai-gateway': 'docker',
  // The longest by far: commands, files and disks of sandboxes, as `contract` has them.
  builds: 'docker',
  // How an engine is found and what dev says of it; most developers have this one.
  dev: 'docker',
  // The harder one: its containers stop with the service. That one loses nothing over either is in `leaks`.
  'kill-9': 'podman',
  // A whole platform: what it uses of an engine is shown by `builds` over the other one.
  push: 'podman',
  // What an engine shows and logs of a container: the one of the compose files.
  secrets: 'docker',
  // Rows, tokens and projects.
  service: 'docker',
};

process.exitCode = await run(process.argv.slice(2));

/** A socket next to the engine's: a test that writes `stop` or `start` hears when that is done. */
async function openSwitch(engine: SandboxEngine): Promise<string> {
  const at = path.join(path.dirname(engine.socketPath), 'switch.sock');
  const server = createServer((socket) => {
    socket.once('data', (word) => {
      const done = String(word) === 'stop' ? engine.stop() : engine.start();
      done.then(
        () => socket.end('done'),
        (error: Error) => socket.end(error.message),
      );
    });
  });
  server.listen(at).unref();
  await once(server, 'listening');
  return at;
}

async function run(words: readonly string[]): Promise<number> {
  const options = words.filter((word) => word.startsWith('--'));
  const parts = words.filter((word) => !word.startsWith('--') && !KINDS.includes(word as SandboxEngineKind));
  const all = globSync('test/sandbox/*.test.ts', { cwd: root }).toSorted();
  const picks = (word: string): boolean => all.some((file) => file.includes(word));
  if (refuses('npm test -- sandbox', parts, picks, [...KINDS, ...all])) return 2;
  const files = parts.length === 0 ? all : all.filter((file) => parts.some((part) => file.includes(part)));
  const chosen = KINDS.filter((kind) => words.includes(kind));
  const filesOver = (kind: SandboxEngineKind): readonly string[] =>
    chosen.length > 0 ? files : files.filter((file) => (onlyOver[path.basename(file, '.test.ts')] ?? kind) === kind);
  let code = 0;
  for (const kind of chosen.length === 0 ? KINDS : chosen) {
    if (filesOver(kind).length === 0) continue;
    const reason = await noSandboxEngineReason(kind);
    if (reason !== null) {
      process.stdout.write(`Sandboxes are not tested over ${kind}: ${reason}\n`);
      if (process.env['CI'] === 'true') code ||= 1;
      continue;
    }
    process.stdout.write(`\nSandboxes over ${kind}\n`);
    const engine = await startSandboxEngine(kind);
    // Nothing stays when its time is over.
    const end = (): void => void engine.close().finally(() => process.exit(1));
    for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, end);
    try {
      process.env['TEST_SANDBOX_SOCKET'] = engine.socketPath;
      process.env['TEST_SANDBOX_ENGINE'] = kind;
      process.env['TEST_SANDBOX_SWITCH'] = await openSwitch(engine);
      // One at a time: each counts what is left on the machine.
      for (const file of filesOver(kind)) code = (await runTestFiles([file], options)) || code;
    } finally {
      for (const signal of ['SIGTERM', 'SIGINT'] as const) process.off(signal, end);
      await engine.close();
    }
  }
  return code;
}
