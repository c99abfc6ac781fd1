// The process of one local sandbox: the agent on a Unix socket in a private folder. The process sends `ready` when it
// listens, and exits with all of its commands when its parent exits.
import { createAgentServer } from '../../agent/server.ts';
import type { AgentSettings } from '../../agent/settings.ts';

const [socket, settingsText] = process.argv.slice(2) as [string, string];
const settings = JSON.parse(settingsText) as AgentSettings;

// Everything in the sandbox depends on this process, so it survives unexpected errors.
process.on('uncaughtException', (error) => void process.stderr.write(`sandbox: ${error.stack ?? error.message}\n`));
process.stdin.resume().once('close', () => process.exit(0));

createAgentServer(settings).listen(socket, () => process.stdout.write('ready\n'));
