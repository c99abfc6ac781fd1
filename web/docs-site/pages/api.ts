// Generates the API reference from the API's OpenAPI document.
import { createApi } from '#control/api/app.ts';
import type { Dependencies } from '#control/process/dependencies.ts';
import { defaultLimits } from '#core/limits.ts';
import { openLog } from '#core/log/log.ts';
import { madeFrom, code, table } from './table.ts';

interface Operation {
  readonly summary?: string;
  readonly description?: string;
  readonly tags?: readonly string[];
  readonly parameters?: readonly {
    readonly name: string;
    readonly in: string;
    readonly required?: boolean;
    readonly description?: string;
    readonly schema?: SchemaPart;
  }[];
  readonly requestBody?: { readonly content?: Readonly<Record<string, { readonly schema?: SchemaPart }>> };
  readonly responses?: Readonly<Record<string, unknown>>;
}

interface SchemaPart {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly properties?: Readonly<Record<string, SchemaPart>>;
  readonly required?: readonly string[];
  readonly description?: string;
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly anyOf?: readonly SchemaPart[];
  readonly items?: SchemaPart;
}

interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas?: Readonly<Record<string, SchemaPart>> };
}

/** @throws {Error} if the API returns no description. */
export async function apiPage(): Promise<string> {
  const document = await openApiDocument();
  const groups = new Map<string, string[]>();
  for (const [path, operations] of Object.entries(document.paths).sort(([one], [other]) => (one < other ? -1 : 1)))
    for (const [method, operation] of Object.entries(operations)) {
      const [group = path.split('/')[1] ?? ''] = operation.tags ?? [];
      groups.set(group, [...(groups.get(group) ?? []), describe(method, path, operation, document)]);
    }
  return `# API reference

Every operation of the [management API](/api), which says how to sign in and what errors look like. A running platform has the same at
\`/openapi.json\`, for programs, and at \`/docs\`.

${[...groups]
  .sort(([one], [other]) => (one < other ? -1 : 1))
  .map(([group, parts]) => `## ${group}\n\n${parts.join('\n\n')}`)
  .join('\n\n')}

${madeFrom('control/api/')}
`;
}

async function openApiDocument(): Promise<Document> {
  const answer = await createApi().fetch(new Request('http://api/openapi.json'), descriptionDeps());
  if (!answer.ok) throw new Error(`The API returned no description: ${answer.status} ${await answer.text()}`);
  return (await answer.json()) as Document;
}

/** Minimal dependencies of the API for its description: no sessions, no metrics. */
function descriptionDeps(): Dependencies {
  const deps: Pick<Dependencies, 'log' | 'limits' | 'clientAddress' | 'findSession'> = {
    log: openLog('docs', { LOG_LEVEL: 'silent' }),
    limits: defaultLimits.control,
    clientAddress: () => null,
    findSession: () => Promise.resolve(null),
  };
  return deps as Dependencies;
}

function describe(method: string, path: string, operation: Operation, document: Document): string {
  const { summary, description, parameters = [], requestBody, responses = {} } = operation;
  const body = Object.values(requestBody?.content ?? {})[0]?.schema;
  const fields = body === undefined ? [] : fieldsOf(body, document);
  return [
    `### ${method.toUpperCase()} ${code(path)}`,
    [summary, description].filter(Boolean).join('. '),
    ...(parameters.length === 0
      ? []
      : [
          table(
            ['parameter', 'in', 'takes', 'meaning'],
            parameters.map(({ name, in: place, required, description: meaning, schema }) => [
              `${code(name)}${required === true && place !== 'path' ? ', needed' : ''}`,
              place,
              schema === undefined ? '' : takes(schema, document),
              meaning ?? schema?.description ?? '',
            ]),
          ),
        ]),
    ...(fields.length === 0 ? [] : [table(['body field', 'type', 'description'], fields)]),
    `Responses: ${Object.keys(responses).map(code).join(', ')}.`,
  ]
    .filter((part) => part !== '')
    .join('\n\n');
}

function fieldsOf(body: SchemaPart, document: Document): string[][] {
  const { properties = {}, required = [] } = resolved(body, document);
  return Object.entries(properties).map(([name, schema]) => [
    `${code(name)}${required.includes(name) ? ', needed' : ''}`,
    takes(schema, document),
    schema.description ?? '',
  ]);
}

function resolved(schema: SchemaPart, { components }: Document): SchemaPart {
  const name = schema.$ref?.replace('#/components/schemas/', '');
  return name === undefined ? schema : (components.schemas?.[name] ?? {});
}

function takes(part: SchemaPart, document: Document): string {
  const schema = resolved(part, document);
  if (schema.const !== undefined) return code(JSON.stringify(schema.const));
  if (schema.enum !== undefined) return schema.enum.map((value) => code(String(value))).join(', ');
  if (schema.anyOf !== undefined) return [...new Set(schema.anyOf.map((one) => takes(one, document)))].join(' or ');
  if (schema.items !== undefined) return `list of ${takes(schema.items, document)}`;
  return [schema.type ?? 'anything'].flat().join(' or ');
}
