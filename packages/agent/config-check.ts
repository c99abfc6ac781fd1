// Checks the options of `createAgent` when the worker starts: a misspelt or mistyped option would otherwise be ignored,
// or fail in the middle of a run.
import type { AgentConfig } from './config-types.ts';

/** The expected value of a field, as the error describes it, and its test. */
type Rule = readonly [text: string, test: (value: unknown) => boolean];

const BOOLEAN: Rule = ['true or false', (value) => typeof value === 'boolean'];
const TEXT: Rule = ['a text that is not empty', (value) => typeof value === 'string' && value !== ''];
const FUNCTION: Rule = ['a function', (value) => typeof value === 'function'];
const LIST: Rule = ['a list', Array.isArray];
const OBJECT: Rule = ['an object', isObject];
const whole = (least: number, most = Number.MAX_SAFE_INTEGER): Rule => [
  most === Number.MAX_SAFE_INTEGER ? `a whole number of at least ${least}` : `a whole number from ${least} to ${most}`,
  (value) => Number.isSafeInteger(value) && (value as number) >= least && (value as number) <= most,
];

const STEPS_MAX = 100;

const topLevel: Readonly<Record<string, Rule>> = {
  systemPrompt: ['a text or a function', (value) => typeof value === 'string' || typeof value === 'function'],
  handle: ['a function that answers requests', FUNCTION[1]],
  model: TEXT,
  contextCompression: OBJECT,
  streaming: OBJECT,
  features: OBJECT,
  tools: LIST,
  hooks: OBJECT,
  maxSteps: whole(1, STEPS_MAX),
  messengers: OBJECT,
  health: ['{ path } or false', (value) => value === false || isObject(value)],
  mcpServer: ['true, false or an object', (value) => typeof value === 'boolean' || isObject(value)],
  modelTimeoutMs: whole(1),
  approvalTimeoutMs: whole(1),
};

const nested: Readonly<Record<string, Readonly<Record<string, Rule>>>> = {
  contextCompression: {
    enabled: BOOLEAN,
    maxTokens: whole(1),
    summaryModel: TEXT,
    preserveRecentMessages: whole(0),
    summaryPrompt: TEXT,
  },
  streaming: { enabled: BOOLEAN, throttleMs: whole(0), minCharsDelta: whole(0), maxPartialLength: whole(1) },
  features: { memory: BOOLEAN, artifacts: BOOLEAN, scheduling: BOOLEAN, mcp: BOOLEAN },
  hooks: {
    onRunPartial: FUNCTION,
    onMemorySet: FUNCTION,
    onMemoryDelete: FUNCTION,
    onArtifactCreated: FUNCTION,
    onTaskScheduled: FUNCTION,
    onRunComplete: FUNCTION,
    onRunError: FUNCTION,
  },
  health: { path: ['a path that begins with /', (value) => typeof value === 'string' && value.startsWith('/')] },
  mcpServer: { path: TEXT, name: TEXT, authenticate: FUNCTION, tools: LIST },
};

/** @throws TypeError that names the option. */
export function checkConfig(config: AgentConfig<never>): void {
  if (!isObject(config)) throw new TypeError('createAgent takes an object with systemPrompt and handle');
  for (const name of ['systemPrompt', 'handle'])
    if (!topLevel[name]![1](config[name])) throw new TypeError(`createAgent needs ${name}, ${topLevel[name]![0]}`);
  checkFields('', config, topLevel);
  for (const [name, rules] of Object.entries(nested))
    if (isObject(config[name])) checkFields(`${name}.`, config[name], rules);
  if (isObject(config.messengers))
    for (const [platform, make] of Object.entries(config.messengers))
      if (typeof make !== 'function') throw new TypeError(`messengers.${platform} must be a function`);
}

function checkFields(
  where: string,
  given: Readonly<Record<string, unknown>>,
  rules: Readonly<Record<string, Rule>>,
): void {
  for (const [name, value] of Object.entries(given)) {
    const rule = Object.hasOwn(rules, name) ? rules[name] : undefined;
    if (rule === undefined)
      throw new TypeError(`createAgent does not take ${where}${name}: it takes ${Object.keys(rules).join(', ')}`);
    if (value !== undefined && !rule[1](value)) throw new TypeError(`${where}${name} must be ${rule[0]}`);
  }
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
