// What the agent can do in its user's sandbox: each user has one, and nobody else's is in reach. A command that fails is
// told to the model as what it is: it reads the output and goes on.
import { defineTool, type ToolContext } from '@platform-run/agent';
import type { Sandbox } from '@platform-run/types';

/** What a model is shown of an output: the end says what went wrong. */
const OUTPUT_CHARS_MAX = 8000;

type Context = ToolContext<PlatformEnv>;

const boxOf = ({ env, userId }: Context): Sandbox => env.BOX.get(userId);

function endOf(text: string): string {
  return text.length <= OUTPUT_CHARS_MAX ? text : `[...]${text.slice(-OUTPUT_CHARS_MAX)}`;
}

const runCommand = defineTool({
  name: 'run_command',
  description: 'Runs a shell command in /workspace, and tells its exit code and output',
  parameters: {
    type: 'object',
    properties: {
      command: { type: 'string' },
      seconds: { type: 'integer', minimum: 1, maximum: 600, description: 'After which it is ended; 60 by default' },
    },
    required: ['command'],
  },
  async execute({ command, seconds = 60 }, ctx: Context) {
    const { stdout, stderr, exitCode, timedOut } = await boxOf(ctx).exec(command, { timeoutMs: seconds * 1000 });
    const how = timedOut ? `It was ended after ${seconds} seconds.` : `Exit code ${exitCode}.`;
    return [how, endOf(stdout), ...(stderr === '' ? [] : [`stderr:\n${endOf(stderr)}`])].join('\n');
  },
});

const writeFile = defineTool({
  name: 'write_file',
  description: 'Writes a file; folders on the way are made',
  parameters: {
    type: 'object',
    properties: { path: { type: 'string' }, content: { type: 'string' } },
    required: ['path', 'content'],
  },
  async execute({ path, content }, ctx: Context) {
    await boxOf(ctx).writeFile(path, content);
    return `Wrote ${path}.`;
  },
});

const readFile = defineTool({
  name: 'read_file',
  description: 'Reads a text file',
  parameters: { type: 'object', properties: { path: { type: 'string' } }, required: ['path'] },
  async execute({ path }, ctx: Context) {
    return endOf((await boxOf(ctx).readFile(path)).content);
  },
});

const listFiles = defineTool({
  name: 'list_files',
  description: 'Lists a folder with all that is in it',
  parameters: { type: 'object', properties: { path: { type: 'string' } } },
  async execute({ path = '.' }, ctx: Context) {
    const files = await boxOf(ctx).listFiles(path, { recursive: true });
    return files.map(({ path: found, type, size }) => `${found} ${size ?? type}`).join('\n') || 'It is empty.';
  },
});

export const tools = [runCommand, writeFile, readFile, listFiles];
