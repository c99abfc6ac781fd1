// The file of `platform setup --file`: text -> the steps to do, or problems with their positions. Pure.
import type { XStatic } from '#core/typebox/typebox.mjs';
import { checkSource } from '#core/config/schema-check.ts';
import { readYaml } from '#core/config/yaml-source.ts';
import { hasErrors, type Problem } from '#core/problem.ts';

const text = (expects: string, pattern = '^[^\\u0000-\\u001f]{1,2048}$') =>
  ({ type: 'string', pattern, expects }) as const;
const address = text('an email address', '^[^\\s@<>,;"]+@[^\\s@<>,;"]+$');

const setupSchema = {
  type: 'object',
  additionalProperties: false,
  properties: {
    account: {
      type: 'object',
      additionalProperties: false,
      required: ['username', 'password'],
      properties: { username: text('a username'), password: text('a password') },
      expects: 'a map with username and password',
    },
    settings: {
      type: 'object',
      additionalProperties: false,
      properties: {
        AUTH_MAIL_URL: text('a URL'),
        MAIL_FROM: text('a sender, such as Platform <platform@example.com>'),
        SIGN_IN: text('ways to sign in, with commas'),
        SIGN_UP: { type: 'string', enum: ['invited', 'open'] },
      },
    },
    test_mail: address,
    ai: {
      type: 'object',
      additionalProperties: false,
      required: ['name', 'kind'],
      properties: {
        name: text('a name of lower-case letters, digits and hyphens', '^[a-z][a-z0-9-]{0,39}$'),
        kind: { type: 'string', enum: ['openai', 'anthropic', 'google', 'mock'] },
        url: text('a URL'),
        key: text('a key'),
        models: { type: 'array', maxItems: 200, items: text('the name of a model') },
      },
      expects: 'a map with name and kind',
    },
    invitations: {
      type: 'array',
      maxItems: 50,
      items: {
        type: 'object',
        additionalProperties: false,
        required: ['email', 'role'],
        properties: { email: address, role: { type: 'string', enum: ['admin', 'member', 'viewer'] } },
        expects: 'a map with email and role',
      },
    },
    example: text('the name of a template', '^[a-z][a-z0-9-]{0,39}$'),
    skip: {
      type: 'array',
      maxItems: 20,
      items: {
        type: 'string',
        enum: ['account', 'domain', 'https', 'git-host', 'ai', 'backups', 'mail', 'invitations', 'example'],
      },
    },
    finish: { type: 'boolean' },
  },
} as const;

/** Content of a setup file. */
export type SetupFile = XStatic<typeof setupSchema>;

/** Parses a setup file; `setup` is null if a problem is an error. */
export function parseSetupFile(
  content: string,
  file: string,
): { readonly setup: SetupFile | null; readonly problems: readonly Problem[] } {
  const source = readYaml(content, file);
  if (!source.readable) return { setup: null, problems: source.problems };
  const { value } = checkSource(source, setupSchema);
  return { setup: hasErrors(source.problems) ? null : (value as SetupFile), problems: source.problems };
}
