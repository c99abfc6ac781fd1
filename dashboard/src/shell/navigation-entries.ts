// Entries of the sidebar, nine at most; related pages are tabs of one entry. Add a line here for a new area.
import {
  ActivityLogIcon,
  ArchiveIcon,
  BarChartIcon,
  DashboardIcon,
  GearIcon,
  LayersIcon,
  MagicWandIcon,
  PersonIcon,
  RocketIcon,
} from '@radix-ui/react-icons';
import type { IconProps } from '@radix-ui/react-icons/dist/types';
import type { ComponentType } from 'react';
import type { Mode } from '../state/mode.ts';

/** A sidebar entry. */
interface NavigationEntry {
  readonly title: string;
  readonly Icon: ComponentType<IconProps>;
  /** Path below `/projects/<name>`; empty for the overview. */
  readonly path: string;
  readonly modes: readonly Mode[];
  /** The second key of the shortcut, which begins with `g`. */
  readonly key: string;
}

const both: readonly Mode[] = ['production', 'dev'];
const production: readonly Mode[] = ['production'];

export const navigationEntries: readonly NavigationEntry[] = [
  { title: 'Overview', Icon: DashboardIcon, path: '', modes: production, key: 'o' },
  { title: 'Requests', Icon: DashboardIcon, path: '', modes: ['dev'], key: 'r' },
  { title: 'Deployments', Icon: RocketIcon, path: 'deployments', modes: production, key: 'd' },
  { title: 'Logs', Icon: ActivityLogIcon, path: 'logs', modes: both, key: 'l' },
  { title: 'Analytics', Icon: BarChartIcon, path: 'analytics', modes: production, key: 'a' },
  { title: 'Storage', Icon: ArchiveIcon, path: 'storage', modes: both, key: 's' },
  { title: 'Queues & jobs', Icon: LayersIcon, path: 'jobs', modes: both, key: 'q' },
  { title: 'AI', Icon: MagicWandIcon, path: 'ai', modes: production, key: 'i' },
  { title: 'Users', Icon: PersonIcon, path: 'users', modes: both, key: 'u' },
  { title: 'Settings', Icon: GearIcon, path: 'settings', modes: both, key: ',' },
];

/** Pages of a project's settings. */
export const settingsPages = [
  ['General', '/projects/$project/settings'],
  ['Variables', '/projects/$project/settings/variables'],
  ['Domains', '/projects/$project/settings/domains'],
  ['Git', '/projects/$project/settings/git'],
  ['Deploy hooks', '/projects/$project/settings/hooks'],
  ['Log drains', '/projects/$project/settings/drains'],
  ['Alerts', '/projects/$project/settings/alerts'],
  ['Collector', '/projects/$project/settings/collector'],
] as const;
