// Validates a route record from outside completely. The only validator: engines, the broker and the CLI read records
// through it.
import { Compile, Type } from '#core/typebox/typebox.mjs';
import type { RouteRecord } from '#core/manifest.ts';
import { isArtifactId, isDeploymentId, isProjectName } from '#core/names.ts';
import { plans } from '#core/plans.ts';

const schema = Compile(
  Type.Object(
    {
      version: Type.Literal(1),
      project: Type.String(),
      plan: Type.Union(plans.map((plan) => Type.Literal(plan))),
      owner: Type.Optional(
        Type.Object(
          { organization: Type.String({ minLength: 1 }), project: Type.String({ minLength: 1 }) },
          { additionalProperties: false },
        ),
      ),
      vars: Type.Record(Type.String(), Type.String()),
      previewVars: Type.Optional(Type.Record(Type.String(), Type.String())),
      branchVars: Type.Optional(Type.Record(Type.String(), Type.Record(Type.String(), Type.String()))),
      domains: Type.Array(Type.String()),
      branchDomains: Type.Optional(Type.Record(Type.String(), Type.String())),
      redirects: Type.Optional(Type.Record(Type.String(), Type.String())),
      production: Type.Union([Type.String(), Type.Null()]),
      split: Type.Optional(
        Type.Union([
          Type.Null(),
          Type.Object(
            { deployment: Type.String(), percent: Type.Integer({ minimum: 0, maximum: 100 }) },
            { additionalProperties: false },
          ),
        ]),
      ),
      protection: Type.Optional(
        Type.Union([
          Type.Null(),
          Type.Object(
            {
              passwordHash: Type.String({ pattern: '^scrypt\\$[\\w-]{22}\\$[\\w-]{43}$' }),
              bypassHash: Type.Optional(Type.String({ pattern: '^[0-9a-f]{64}$' })),
            },
            { additionalProperties: false },
          ),
        ]),
      ),
      productionHistory: Type.Optional(Type.Array(Type.String())),
      branches: Type.Record(Type.String(), Type.String()),
      deployments: Type.Record(
        Type.String(),
        Type.Object(
          {
            id: Type.String(),
            artifact: Type.String(),
            branch: Type.String(),
            createdAt: Type.String(),
            target: Type.Optional(Type.Union([Type.Literal('production'), Type.Literal('preview')])),
            vars: Type.Optional(Type.Record(Type.String(), Type.String())),
            supersededAt: Type.Optional(Type.String({ pattern: '^\\d{4}-\\d\\d-\\d\\dT[\\d:.]{8,12}Z$' })),
          },
          { additionalProperties: false },
        ),
      ),
    },
    { additionalProperties: false },
  ),
);

/** Parses a record. @throws {Error} whose message names the problem and its position. */
export function parseRouteRecord(text: string): RouteRecord {
  const value: unknown = JSON.parse(text);
  if (!schema.Check(value)) {
    const [first] = schema.Errors(value);
    // The library's message for an unknown field.
    const reason = first?.message === 'schema is false' ? 'is not a known field' : (first?.message ?? 'is not valid');
    throw new Error(`${first?.instancePath || 'the record'} ${reason}`);
  }
  const record = value as RouteRecord;
  if (!isProjectName(record.project)) throw new Error(`/project "${record.project}" is not a project name`);
  for (const [id, deployment] of Object.entries(record.deployments)) {
    if (!isDeploymentId(id) || deployment.id !== id) throw new Error(`/deployments "${id}" is not a deployment id`);
    if (!isArtifactId(deployment.artifact)) throw new Error(`/deployments/${id}/artifact is not an artifact id`);
  }
  const exists = (id: string, where: string): void => {
    if (!Object.hasOwn(record.deployments, id))
      throw new Error(`${where} names deployment "${id}", which is not in /deployments`);
  };
  if (record.production !== null) exists(record.production, '/production');
  if (record.split != null) exists(record.split.deployment, '/split');
  for (const id of record.productionHistory ?? []) exists(id, '/productionHistory');
  for (const [branch, id] of Object.entries(record.branches)) exists(id, `/branches/${branch}`);
  const { domains, branchDomains = {}, redirects = {} } = record;
  checkHosts('/domains', domains);
  checkHosts('/branchDomains', Object.keys(branchDomains));
  checkHosts('/redirects', Object.entries(redirects).flat());
  return record;
}

function checkHosts(where: string, hosts: readonly string[]): void {
  for (const host of hosts)
    if (!/^[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?$/.test(host))
      throw new Error(`${where} "${host}" is not a lowercase host name`);
}
