// The way out of builds in tests, as a builder has it with these variables of the operator, by default none.
import { createOwnAddresses } from '#core/egress.ts';
import { outboundRules, type OutboundRules } from '#builder/steps/outbound/reach.ts';
import { guardedLookup } from '#core/outbound/host-names.ts';

export function testOutbound(environment: Readonly<Record<string, string>> = {}): OutboundRules {
  const policy = { loopback: false, private: false, isOwn: createOwnAddresses() };
  return outboundRules({ policy, lookup: guardedLookup(policy), privateHosts: [] }, environment, '');
}
