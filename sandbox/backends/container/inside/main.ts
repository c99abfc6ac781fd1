// The first program of a sandbox's container: the agent, reached over the standard input and output, and the way out.
// Started by the engine as the user of commands; it holds no secret of the platform.
import { rmdirSync } from 'node:fs';
import { Duplex } from 'node:stream';
import { WORKSPACE } from '#core/sandbox/operations.ts';
import { startProxy } from '#core/way-out/proxy.ts';
import { createAgentServer } from '../../../agent/server.ts';
import { startAiDoor } from './ai-door.ts';
import { SECRETS_FOLDER } from './secrets-folder.ts';
import { openStreams } from './streams.ts';

// Everything in the sandbox depends on this process: it outlives what it did not foresee.
process.on('uncaughtException', () => {});
process.on('SIGTERM', () => process.exit(0));

try {
  // Of a new disk.
  rmdirSync(`${WORKSPACE}/lost+found`);
} catch {}

// Where this program's own compiled code lies (../program.ts).
const { NODE_COMPILE_CACHE: _compiled, ...variables } = process.env;
const server = createAgentServer({
  workspace: WORKSPACE,
  confined: false,
  secretFolders: [SECRETS_FOLDER],
  variables: variables as Record<string, string>,
  mark: 'sandbox',
});
const streams = openStreams({
  channel: Duplex.from({ readable: process.stdin, writable: process.stdout }),
  greets: false,
  onOpen: (_topic, stream) => void server.emit('connection', stream),
  // Without the engine nobody can ask for anything any more.
  onLost: () => process.exit(0),
});
startProxy((target) => streams.open(target));
startAiDoor((topic) => streams.open(topic));
