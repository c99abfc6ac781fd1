// The way out of builds in tests, as a builder has it whose operator has set nothing, or these variables.
import { createOwnAddresses } from '#core/egress.ts';
import { buildWayOut, type BuildWayOut } from '#builder/steps/way-out/reach.ts';
import { guardedLookup } from '#runtime/engine/bindings/host-names.ts';

export function testWayOut(environment: Readonly<Record<string, string>> = {}): BuildWayOut {
  const policy = { loopback: false, private: false, isOwn: createOwnAddresses() };
  return buildWayOut({ policy, lookup: guardedLookup(policy) }, environment, '');
}
