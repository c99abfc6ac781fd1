// The first process of a sandbox container: the agent, reached over standard input and output, and the outgoing proxy.
// Started by the engine as the user of commands; it has no secrets of the platform.
import { rmdirSync } from 'node:fs';
import { Duplex } from 'node:stream';
import { WORKSPACE } from '#core/sandbox/operations.ts';
import { startProxy } from '#core/outbound/proxy.ts';
import { createAgentServer } from '../../../agent/server.ts';
import { startAiListener } from './ai-listener.ts';
import { SECRETS_FOLDER } from './secrets-folder.ts';
import { openStreams } from './streams.ts';

// Everything in the sandbox depends on this process, so it survives unexpected errors.
process.on('uncaughtException', () => {});
process.on('SIGTERM', () => process.exit(0));

try {
  // The folder that mkfs creates on a new disk.
  rmdirSync(`${WORKSPACE}/lost+found`);
} catch {}

// The program's compile cache (../program.ts).
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
  // When the engine closes the streams, no more requests can arrive.
  onLost: () => process.exit(0),
});
startProxy((target) => streams.open(target));
startAiListener((topic) => streams.open(topic));
