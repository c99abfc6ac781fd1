// Machines of the installation, for its operator: list, drain, remove.
import Type from '#core/typebox/typebox.mjs';
import type { Transaction } from '#postgres/sql.ts';
import { platform } from '#packages/worker/index.ts';
import { ApiError } from '../../http/errors.ts';
import { nullable, Timestamp } from '../../http/schemas.ts';
import type { Dependencies } from '../../process/dependencies.ts';
import { drainMachine, lockMachines, readMachines, removeMachine, type MachineRow } from '../../records/machines.ts';
import type { RequestState } from '../request/middleware.ts';
import { needs } from '../request/needs.ts';

const tags = ['operator'];
const Machine = Type.Object({
  name: Type.String(),
  status: Type.Enum(['up', 'draining', 'drained', 'lost'], {
    description: '`drained`: the machine no longer serves requests. `lost`: the machine has not renewed its lease',
  }),
  privateOrigin: nullable(Type.String({ description: 'Its private port. Null: other machines cannot reach this one' })),
  upstream: nullable(Type.String({ description: 'Its handler, as host:port' })),
  parts: Type.Array(Type.String(), { description: 'Parts of the platform that run on the machine' }),
  version: Type.String(),
  memoryBytes: Type.Integer(),
  memoryFreeBytes: Type.Integer(),
  diskBytes: Type.Integer({ description: 'Size of the disk with the data folder' }),
  diskFreeBytes: Type.Integer(),
  announcedAt: Timestamp,
  seenAt: Timestamp,
});

export const machines = platform<Dependencies, RequestState>()
  .get(
    '/operator/machines',
    {
      ...needs('operator'),
      tags,
      summary: 'List the machines of the installation',
      response: Type.Object({ items: Type.Array(Machine) }),
    },
    async (ctx) => {
      ctx.state.access.operator();
      return { items: (await readMachines(ctx.env.sql)).map(toMachine) };
    },
  )
  .post(
    '/operator/machines/:name/drain',
    {
      ...needs('operator'),
      tags,
      summary: 'Drain a machine',
      description:
        'Edges send no new requests to the machine, running requests finish, and WebSockets close with 1012. When this is done, the status of the machine is `drained`. To use the machine again, restart it.',
      response: Machine,
    },
    async (ctx) => {
      ctx.state.access.operator();
      const { name } = ctx.params;
      return ctx.env.sql.begin(async (tx) => {
        const { machine, others } = await find(tx, name);
        if (machine.status === 'lost')
          throw new ApiError('conflict', { reason: `${name} is lost: remove it, or start it again` });
        if (machine.status !== 'up') return toMachine(machine);
        if (!machine.parts.includes('handler'))
          throw new ApiError('conflict', { reason: `${name} serves no requests: just stop it` });
        if (!others.some(isServing))
          throw new ApiError('conflict', {
            reason: `No other machine serves requests that ${name} could hand over to: start another machine first`,
          });
        await drainMachine(tx, name);
        await audit(ctx.state, tx, 'machine.drain', name);
        return toMachine({ ...machine, status: 'draining' });
      });
    },
  )
  .delete(
    '/operator/machines/:name',
    {
      ...needs('operator'),
      tags,
      summary: 'Remove a machine that is lost or drained',
      description:
        'If the machine is still running, it stops. The machine keeps the secrets of the installation, so it joins again at its next start.',
      response: { 204: null },
    },
    async (ctx) => {
      ctx.state.access.operator();
      const { name } = ctx.params;
      await ctx.env.sql.begin(async (tx) => {
        const { machine } = await find(tx, name);
        if (machine.status === 'up' || machine.status === 'draining')
          throw new ApiError('conflict', {
            reason: `${name} is ${machine.status}: drain it first, or stop it, which removes it`,
          });
        await removeMachine(tx, name);
        await audit(ctx.state, tx, 'machine.remove', name);
      });
      return ctx.json(null, 204);
    },
  );

/** @throws {ApiError} `not_found` */
async function find(tx: Transaction, name: string): Promise<{ machine: MachineRow; others: readonly MachineRow[] }> {
  const all = await lockMachines(tx);
  const machine = all.find((one) => one.name === name);
  if (machine === undefined) throw new ApiError('not_found');
  return { machine, others: all.filter((one) => one !== machine) };
}

function isServing({ status, upstream, parts }: MachineRow): boolean {
  return status === 'up' && upstream !== null && parts.includes('handler');
}

function audit(state: RequestState, tx: Transaction, action: string, name: string): Promise<void> {
  return state.audit(tx, {
    organizationId: null,
    action,
    subjectKind: 'machine',
    subjectId: name,
    details: { machine: name },
  });
}

function toMachine(row: MachineRow) {
  return {
    name: row.name,
    status: row.status,
    privateOrigin: row.private_origin,
    upstream: row.upstream,
    parts: [...row.parts],
    version: row.version,
    memoryBytes: row.memory_bytes,
    memoryFreeBytes: row.memory_free_bytes,
    diskBytes: row.disk_bytes,
    diskFreeBytes: row.disk_free_bytes,
    announcedAt: row.announced_at.toISOString(),
    seenAt: row.seen_at.toISOString(),
  };
}
