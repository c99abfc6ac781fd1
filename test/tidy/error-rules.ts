// Rules about errors: a code has one row in the registry and is used, and no class is added for an error that a code or
// a kind can name. Functions over sources; no I/O.
import { isOwnModule, type Sources } from '#cli/tasks/tools/sources.ts';
import { lineAt, type Finding } from './findings.ts';

/** The classes of errors, by the file that has it. */
const errorClasses: Readonly<Record<string, string>> = {
  'builder/node/assert.ts': 'AssertionError',
  'builder/project/build-error.ts': 'BuildError',
  'builder/shims/cloudflare-workflows.ts': 'NonRetryableError',
  'cli/terminal/failure.ts': 'CliError',
  'control/http/errors.ts': 'ApiError',
  'core/database-request.ts': 'SqlRefusal',
  'core/errors.ts': 'PlatformError',
  'core/failure.ts': 'KnownFailure',
  'dashboard/src/api/failure.ts': 'ApiFailure',
  'gateway/contract/errors.ts': 'GatewayError',
  'packages/agent/mcp/exchange.ts': 'McpError',
  'packages/agent/workspaces.ts': 'Superseded',
  'packages/create/project.ts': 'ProjectError',
  'packages/worker/failure.ts': 'HttpError',
  'packages/worker/reply.ts': 'AnswerError',
  'runtime/engine/guest/bindings/ai.ts': 'AiError',
  'runtime/engine/guest/bindings/sandbox/errors.ts': 'SandboxError',
  'runtime/engine/guest/missing-handler.ts': 'MissingHandler',
};

/** Findings of every rule of this file. */
export function errorFindings(sources: Sources): Finding[] {
  const modules = Object.entries(sources).filter(([file]) => isOwnModule(file) && !/^(?:test|bench)\//.test(file));
  return [...classFindings(modules), ...codeFindings(modules)];
}

function classFindings(modules: readonly (readonly [string, string])[]): Finding[] {
  return modules.flatMap(([file, text]) =>
    [...text.matchAll(/^ *(?:export )?class (\w+) extends \w*Error\b/gm)].flatMap(({ 1: name = '', index }) =>
      errorClasses[file] === name
        ? []
        : [{ file, line: lineAt(text, index), message: `has the error class ${name}: use PlatformError or Failure` }],
    ),
  );
}

function codeFindings(modules: readonly (readonly [string, string])[]): Finding[] {
  const isRegistry = (file: string): boolean => /^core\/errors\/[\w-]+\.ts$/.test(file);
  const others = modules.flatMap(([file, text]) => (isRegistry(file) ? [] : [text])).join('\n');
  const used = new Set([...others.matchAll(/['"`.]([a-z][a-z0-9_]*)\b/g)].map(([, word]) => word));
  const known = new Map<string, string>();
  const findings: Finding[] = [];
  for (const [file, text] of modules.filter(([name]) => isRegistry(name)))
    for (const { 1: code = '', index } of text.matchAll(/^ {2}(\w+): \{/gm)) {
      const line = lineAt(text, index);
      const first = known.get(code);
      if (first !== undefined) findings.push({ file, line, message: `has ${code}, which stands in ${first}` });
      if (!used.has(code)) findings.push({ file, line, message: `has ${code}, which nothing uses: delete it` });
      known.set(code, file);
    }
  return findings;
}
