// The built-in tools for memories of a user. The value of a secret is only in the workspace: calls, results and
// histories have a placeholder (secrets.ts).
import { placeholder, SECRET, sweep } from '../secrets.ts';
import { builtIn, toolError, type ReadyTool } from './tool.ts';

const ENTRIES_MAX = 500;
const key = { type: 'string', minLength: 1, maxLength: 128, pattern: '^[^\\[\\]"\\\\\\n]*$' } as const;

/** `memory_set`, `memory_get`, `memory_delete`, `memory_list`. */
export const memoryTools: readonly ReadyTool[] = [
  builtIn({
    name: 'memory_set',
    description: 'Remembers a fact about the user. Set secret for passwords, tokens and the like.',
    parameters: {
      type: 'object',
      properties: { key, value: { type: 'string', maxLength: 10_000 }, secret: { type: 'boolean' } },
      required: ['key', 'value'],
    },
    async execute({ key: name, value, secret = false }, ctx) {
      await ctx.change((workspace) => {
        if (!Object.hasOwn(workspace.memory, name) && Object.keys(workspace.memory).length >= ENTRIES_MAX)
          throw toolError(`There are ${ENTRIES_MAX} memories already; delete one first`);
        Object.defineProperty(workspace.memory, name, {
          value: { value, secret, createdAt: Date.now() },
          enumerable: true,
          configurable: true,
          writable: true,
        });
        if (secret) sweep(workspace);
      });
      return `Stored memory "${name}".`;
    },
    hook: ({ key: name, secret = false }) => ['onMemorySet', name, secret],
  }),
  builtIn({
    name: 'memory_get',
    description: 'Returns the value of a memory, including secret ones.',
    parameters: { type: 'object', properties: { key }, required: ['key'] },
    async execute({ key: name }, ctx) {
      const { memory } = await ctx.read();
      if (!Object.hasOwn(memory, name)) return `No memory found for "${name}".`;
      return memory[name]!.secret ? placeholder(name) : memory[name]!.value;
    },
  }),
  builtIn({
    name: 'memory_delete',
    description: 'Forgets a memory.',
    parameters: { type: 'object', properties: { key }, required: ['key'] },
    execute: ({ key: name }, ctx) =>
      ctx.change((workspace) => {
        if (!Object.hasOwn(workspace.memory, name)) return `No memory found for "${name}".`;
        delete workspace.memory[name];
        return deleted(name);
      }),
    hook: ({ key: name }, result) => (result === deleted(name) ? ['onMemoryDelete', name] : null),
  }),
  builtIn({
    name: 'memory_list',
    description: 'The memories; values of secret ones are left out.',
    parameters: { type: 'object', properties: { prefix: { type: 'string' } } },
    async execute({ prefix = '' }, ctx) {
      const { memory } = await ctx.read();
      const found = Object.entries(memory).filter(([name]) => name.startsWith(prefix));
      return JSON.stringify(
        found.map(([name, { value, secret, createdAt }]) => ({
          key: name,
          value: secret ? SECRET : value,
          secret,
          createdAt,
        })),
      );
    },
  }),
];

function deleted(name: string): string {
  return `Deleted memory "${name}".`;
}
