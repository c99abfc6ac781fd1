// The operator's AI providers, aliases and limits, from variables. Read by the gateway's process, and validated before
// it is started. No message contains a key. Pure.
import { isMockAlone } from './ai-readiness.ts';
import { parseInteger } from './parse-integer.ts';
import { plans, type Plan } from './plans.ts';

/** API formats of providers. */
export const aiProviderKinds = ['openai', 'anthropic', 'google', 'mock'] as const;
export type AiProviderKind = (typeof aiProviderKinds)[number];

/** A provider of the operator. */
export interface AiProvider {
  /** The part of `provider/model` before the slash. */
  readonly name: string;
  readonly kind: AiProviderKind;
  /** '' for `mock`. */
  readonly url: string;
  /** The API key; '' if the provider needs no key. */
  readonly key: string;
  readonly models: readonly string[];
}

/** Limits of one plan; 0 means no limit. */
interface AiPlanLimits {
  readonly tokensDay: number;
  readonly tokensMonth: number;
  readonly requestsMinute: number;
  readonly tokensMinute: number;
}

export interface AiSettings {
  readonly providers: readonly AiProvider[];
  readonly aliases: Readonly<Record<string, string>>;
  readonly auto: readonly string[];
  /** File with the prices of models; null if no model has a price. */
  readonly pricesFile: string | null;
  readonly limits: Readonly<Record<Plan, AiPlanLimits>>;
}

type Environment = Readonly<Record<string, string | undefined>>;

const PROVIDER_VARIABLE = /^AI_PROVIDER_([A-Z0-9][A-Z0-9_]*?)_([A-Z]+)$/;
const FIELDS = ['KIND', 'URL', 'KEY', 'MODELS'] as const;
const ALIAS = /^[A-Za-z0-9][\w.:-]{0,99}$/;
/** Valid characters of a key, which is sent in a header. */
const KEY = /^[\x21-\x7e]+$/;
const usualUrls: Readonly<Record<AiProviderKind, string>> = {
  openai: 'https://api.openai.com/v1',
  anthropic: 'https://api.anthropic.com/v1',
  google: 'https://generativelanguage.googleapis.com/v1beta',
  mock: '',
};

const limitNames: readonly (readonly [field: keyof AiPlanLimits, before: string, after: string])[] = [
  ['tokensDay', 'AI_QUOTA_TOKENS_', '_DAY'],
  ['tokensMonth', 'AI_QUOTA_TOKENS_', '_MONTH'],
  ['requestsMinute', 'AI_RATE_RPM_', ''],
  ['tokensMinute', 'AI_RATE_TPM_', ''],
];

/** Limit variables by plan, with descriptions. */
export const aiLimitVariables: readonly string[] = limitNames.flatMap(([, before, after]) =>
  plans.map((plan) => `${before}${plan.toUpperCase()}${after}`),
);

/** @throws {Error} with a line for each problem. */
export function aiSettingsFrom(environment: Environment): AiSettings {
  const problems: string[] = [];
  const get = (name: string): string => environment[name]?.trim() ?? '';
  const providers = readProviders(environment, problems);
  const isModel = (text: string): boolean => {
    const slash = text.indexOf('/');
    return providers.some(({ name }) => name === text.slice(0, slash)) && slash < text.length - 1;
  };
  const expected = 'provider/model of a provider that is set by AI_PROVIDER_<NAME>_KIND';
  const aliases: Record<string, string> = {};
  for (const entry of listOf(get('AI_ALIASES'))) {
    const [name = '', model = ''] = entry.split(/=(.*)/s).map((part) => part.trim());
    if (!ALIAS.test(name) || name === 'auto') problems.push(`AI_ALIASES: "${name}" is not a valid model name`);
    else if (!isModel(model)) problems.push(`AI_ALIASES: ${name} must be ${expected}, but is "${model}"`);
    else aliases[name] = model;
  }
  const named = listOf(get('AI_AUTO'));
  const auto = named.length === 0 ? usualAuto(providers) : named;
  for (const model of auto)
    if (!isModel(model) && !Object.hasOwn(aliases, model))
      problems.push(`AI_AUTO: "${model}" must be an alias, or ${expected}`);
  const limits = Object.fromEntries(plans.map((plan) => [plan, limitsOf(plan, get, problems)]));
  if (problems.length > 0) throw new Error(problems.join('\n'));
  return {
    providers,
    aliases,
    auto,
    pricesFile: get('AI_PRICES_FILE') || null,
    limits: limits as unknown as Record<Plan, AiPlanLimits>,
  };
}

/** The default of `auto` is the mock, if it is the only provider. */
export function usualAuto(providers: readonly Pick<AiProvider, 'name' | 'kind'>[]): string[] {
  return isMockAlone(providers.map(({ kind }) => kind)) ? [`${providers[0]!.name}/echo`] : [];
}

/** Public URL of the gateway: the workers' PLATFORM_AI_URL. */
export function publicAiUrl(environment: Environment): string {
  const [api, port] = ['PUBLIC_API_URL', 'API_PORT'].map((name) => environment[name]?.trim() ?? '');
  const usual = `http://localhost:${/^[1-9][0-9]*$/.test(port!) ? port : '4002'}`;
  return `${(api || usual)!.replace(/\/+$/, '')}/ai`;
}

/** Whether an environment configures AI: its own providers, or the gateway of another machine. */
export function hasAi(environment: Environment): boolean {
  return Object.entries(environment).some(
    ([name, value = '']) => (name.startsWith('AI_PROVIDER_') || name === 'AI_GATEWAY_URL') && value.trim() !== '',
  );
}

/** Whether a variable is only for the gateway's process. */
export function isAiVariable(name: string): boolean {
  return /^AI_(?:PROVIDER_.+|ALIASES|AUTO|PRICES_FILE)$/.test(name) || aiLimitVariables.includes(name);
}

function readProviders(environment: Environment, problems: string[]): AiProvider[] {
  const found = new Map<string, Partial<Record<(typeof FIELDS)[number], string>>>();
  for (const [variable, value = ''] of Object.entries(environment)) {
    if (!variable.startsWith('AI_PROVIDER_') || value.trim() === '') continue;
    const [, name = '', word = ''] = PROVIDER_VARIABLE.exec(variable) ?? [];
    const field = FIELDS.find((one) => one === word);
    if (field === undefined)
      problems.push(`${variable} is not known: there are AI_PROVIDER_<NAME>_${FIELDS.join(', _')}`);
    else found.set(name, { ...found.get(name), [field]: value.trim() });
  }
  return [...found].flatMap(([name, given]) => readProvider(name, given, problems) ?? []);
}

function readProvider(
  name: string,
  given: Partial<Record<(typeof FIELDS)[number], string>>,
  problems: string[],
): AiProvider | null {
  const variable = (field: string): string => `AI_PROVIDER_${name}_${field}`;
  // A provider at the default URL of its kind only needs a key.
  const kind = aiProviderKinds.find((one) => one === (given.KIND ?? name.toLowerCase()));
  if (kind === undefined) {
    const kinds = aiProviderKinds.join(', ');
    problems.push(
      given.KIND === undefined
        ? `${variable('KIND')} is not set: say what it speaks, one of ${kinds}`
        : `${variable('KIND')} must be one of ${kinds}, but is "${given.KIND}"`,
    );
    return null;
  }
  const before = problems.length;
  const url = given.URL ?? usualUrls[kind];
  const problem = kind === 'mock' ? null : aiUrlProblem(url);
  if (problem !== null) problems.push(`${variable('URL')} ${problem}`);
  if (given.KEY !== undefined && !KEY.test(given.KEY))
    problems.push(`${variable('KEY')} has characters that no key has`);
  if (given.KEY === undefined && needsKey(kind, url)) problems.push(`${variable('KEY')} is not set`);
  if (problems.length > before) return null;
  return {
    name: name.toLowerCase().replaceAll('_', '-'),
    kind,
    url: url.replace(/\/+$/, ''),
    key: given.KEY ?? '',
    models: listOf(given.MODELS ?? ''),
  };
}

/** Default providers require a key. */
const needsKey = (kind: AiProviderKind, url: string): boolean => kind !== 'mock' && url === usualUrls[kind];

/**
 * Why a provider's base URL is invalid; null if it is valid. The URL may contain a password, so no message contains it.
 */
function aiUrlProblem(text: string): string | null {
  const url = URL.parse(text);
  if (url === null || !/^https?:$/.test(url.protocol))
    return 'must be an address of http or https with the version, such as http://127.0.0.1:11434/v1';
  if (url.username !== '' || url.password !== '') return 'must not hold a user or a password: keys go into _KEY';
  return url.search === '' && url.hash === '' ? null : 'must not hold a query or a fragment';
}

function limitsOf(plan: Plan, get: (name: string) => string, problems: string[]): AiPlanLimits {
  const values = limitNames.map(([field, before, after]) => {
    const name = `${before}${plan.toUpperCase()}${after}`;
    try {
      return [field, get(name) === '' ? 0 : parseInteger(name, get(name))];
    } catch (error) {
      problems.push((error as Error).message);
      return [field, 0];
    }
  });
  return Object.fromEntries(values) as unknown as AiPlanLimits;
}

const listOf = (text: string): string[] => text.split(',').flatMap((entry) => entry.trim() || []);
