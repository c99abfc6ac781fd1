// The agent's operations: from untrusted arguments to a JSON response, or to a response that the operation writes
// itself.
import type { IncomingMessage, ServerResponse } from 'node:http';
import { toVariables, type Fields } from '#core/sandbox/arguments.ts';
import type { AskedOperation } from '#core/sandbox/operations.ts';
import { createAiAccess } from './ai-access.ts';
import { createCommands } from './commands.ts';
import { createExecutions } from './exec.ts';
import { createFileWatches } from './file-watches.ts';
import { createFiles } from './files.ts';
import { checkOut } from './git-checkout.ts';
import { pathWithOwn } from './own-programs.ts';
import { createPaths } from './paths.ts';
import { connectToPort, fetchFromPort, waitForPort } from './ports.ts';
import { createProcesses } from './processes.ts';
import { createSecretFiles } from './secret-files.ts';
import type { AgentSettings } from './settings.ts';
import { createTerminals } from './terminals.ts';

/** One call. */
interface AgentCall {
  readonly fields: Fields;
  /** The unread body of a `raw` operation. */
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** Aborts when the caller disconnects. */
  readonly gone: AbortSignal;
}

/** Returns the JSON response; undefined means no content, or the operation has written its response. */
type Operation = (call: AgentCall) => unknown;

export function createOperations(settings: AgentSettings): Readonly<Record<AskedOperation, Operation>> {
  const paths = createPaths(settings);
  const secrets = createSecretFiles(settings);
  const ai = createAiAccess(secrets);
  const variables = { ...settings.variables, PATH: pathWithOwn(settings.variables['PATH']) };
  const commands = createCommands({ ...settings, variables }, paths, ai.variables);
  const executions = createExecutions(commands);
  const processes = createProcesses(commands);
  const files = createFiles(paths);
  const watchFiles = createFileWatches(paths);
  const openTerminal = createTerminals(commands);
  return {
    exec: ({ fields, gone }) => executions.exec(fields, gone),
    execStream: ({ fields, response }) => executions.execStream(fields, response),
    startProcess: ({ fields }) => processes.start(fields),
    listProcesses: () => processes.list(),
    getProcess: ({ fields }) => processes.get(fields),
    getProcessLogs: ({ fields }) => processes.logs(fields),
    streamProcessLogs: ({ fields, response }) => processes.stream(fields, response),
    killProcess: ({ fields }) => processes.kill(fields),
    readFile: ({ fields, response }) => files.read(fields, response),
    writeFile: ({ fields, request }) => files.write(fields, request),
    deleteFile: ({ fields }) => files.delete(fields),
    moveFile: ({ fields }) => files.move(fields),
    mkdir: ({ fields }) => files.mkdir(fields),
    listFiles: ({ fields }) => files.list(fields),
    exists: async ({ fields }) => ({ exists: await files.exists(fields) }),
    watch: ({ fields, response }) => watchFiles(fields, response),
    setEnvVars: ({ fields }) => commands.setVariables(toVariables(fields['variables'])),
    gitCheckout: ({ fields, gone }) => checkOut(fields, { executions, paths, secrets }, gone),
    setAiAccess: ({ fields }) => ai.set(fields),
    waitForPort: ({ fields, gone }) => waitForPort(fields, gone),
    connect: ({ fields, request, response }) => connectToPort(fields, request, response),
    terminal: ({ fields, request, response }) => openTerminal(fields, request, response),
    fetch: ({ fields, request, response }) => fetchFromPort(fields, request, response),
  };
}
