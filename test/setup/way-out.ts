// The way out of builds in tests, as a builder has it with these variables of the operator, by default none.
import { createOwnAddresses } from '#core/egress.ts';
import { buildWayOut, type BuildWayOut } from '#builder/steps/way-out/reach.ts';
import { guardedLookup } from '#core/way-out/host-names.ts';

export function testWayOut(environment: Readonly<Record<string, string>> = {}): BuildWayOut {
  const policy = { loopback: false, private: false, isOwn: createOwnAddresses() };
  return buildWayOut({ policy, lookup: guardedLookup(policy), privateHosts: [] }, environment, '');
}
