// An owner of host calls that are not charged: the dashboard of `platform dev`, and tests.
import type { CallOwner } from './call-owner.ts';

export const freeOwner: CallOwner = {
  id: 0,
  trace: null,
  isOver: false,
  cpuLeftMs: Number.POSITIVE_INFINITY,
  reserveCpu() {},
  settleCpu() {},
  countSubrequest() {},
  host: () => null,
  header: () => null,
  run: () => null,
  atExit() {},
};
