// One custom domain: its state, the DNS records to make with their copy buttons, its certificate.
import { DotsHorizontalIcon } from '@radix-ui/react-icons';
import { Button, IconButton, OutsideLink } from '../../components/button.tsx';
import { CopyButton } from '../../components/copy-button.tsx';
import { Menu, MenuItem } from '../../components/menu.tsx';
import { Notice } from '../../components/notice.tsx';
import { Badge, State, type Tone } from '../../components/state.tsx';
import { Table, type Column } from '../../components/table.tsx';
import { Time } from '../../components/time.tsx';
import type { Domain } from '../../queries/domains.ts';
import styles from './settings.module.css';

const states: Readonly<Record<Domain['status'], readonly [tone: Tone, word: string]>> = {
  pending_verification: ['warning', 'Waits for its DNS records'],
  verifying: ['running', 'Looking at the DNS'],
  issuing: ['running', 'Getting its certificate'],
  active: ['ok', 'Serving'],
  error: ['failed', 'Not serving'],
};

interface DnsRecord {
  readonly type: string;
  readonly name: string;
  readonly value: string;
  readonly purpose?: 'verify' | 'route';
}

interface DomainCardProps {
  readonly domain: Domain;
  readonly isLooking: boolean;
  readonly onLook: () => void;
  readonly onRemove: () => void;
}

export function DomainCard({ domain, isLooking, onLook, onRemove }: DomainCardProps) {
  const [tone, word] = states[domain.status];
  const { certificate } = domain;
  const isServing = domain.status === 'active';
  return (
    <section className={styles.card} aria-label={domain.hostname}>
      <div className={styles.cardHead}>
        <h2>{domain.hostname}</h2>
        {domain.branch !== null && <Badge>branch {domain.branch}</Badge>}
        {domain.redirectTo !== null && <Badge>sends to {domain.redirectTo}</Badge>}
        <State tone={tone}>{word}</State>
        {isServing && (
          <OutsideLink href={`${certificate === null ? 'http' : 'https'}://${domain.hostname}`} size="small">
            Visit
          </OutsideLink>
        )}
        {!isServing && (
          <Button size="small" onClick={onLook} isPending={isLooking}>
            Look again
          </Button>
        )}
        <Menu
          trigger={
            <IconButton label={`Actions for ${domain.hostname}`} size="small">
              <DotsHorizontalIcon />
            </IconButton>
          }
        >
          <MenuItem onSelect={onLook}>Look at the DNS</MenuItem>
          <MenuItem onSelect={onRemove} isDanger>
            Remove…
          </MenuItem>
        </Menu>
      </div>
      {domain.problem !== null && (
        <Notice tone={domain.status === 'pending_verification' ? 'warning' : 'failed'} title={domain.problem}>
          <p>Records may take minutes to be seen, and as long as their time to live to change.</p>
        </Notice>
      )}
      {!isServing && (
        <>
          <p className={styles.soft}>Make these records where the domain's DNS is:</p>
          <Table
            label={`DNS records of ${domain.hostname}`}
            columns={recordColumns}
            rows={recordsOf(domain)}
            rowKey={({ type, name, value }) => `${type} ${name} ${value}`}
          />
        </>
      )}
      <p className={styles.soft}>
        {certificate?.expiresAt == null ? (
          domain.note
        ) : (
          <>
            Certificate{certificate.issuer !== null && ` by ${certificate.issuer}`}, ends{' '}
            <Time at={certificate.expiresAt} />
          </>
        )}
      </p>
    </section>
  );
}

const copied = (what: string, text: string) => (
  <span className={styles.pair}>
    <span className={styles.name} title={text}>
      {text}
    </span>
    <CopyButton text={text} label={`Copy the ${what}`} />
  </span>
);

const recordColumns: readonly Column<DnsRecord>[] = [
  { id: 'type', header: 'Type', isFitted: true, phone: 'first', cell: ({ type }) => <strong>{type}</strong> },
  { id: 'name', header: 'Name', cell: ({ name }) => copied('name', name) },
  { id: 'value', header: 'Value', cell: ({ value }) => copied('value', value) },
  {
    id: 'purpose',
    header: 'For',
    isFitted: true,
    phone: 'first-end',
    cell: ({ purpose }) => <Badge>{purpose === 'route' ? 'the way here' : 'the proof'}</Badge>,
  },
];

/** Those that the API names; of one that names the proof alone, that. */
function recordsOf(domain: Domain & { readonly records?: readonly DnsRecord[] }): readonly DnsRecord[] {
  return domain.records ?? [{ ...domain.verification, purpose: 'verify' }];
}
