// A custom domain: status, required DNS records, certificate.
import { Button, OutsideLink } from '../../components/button.tsx';
import { CopyButton } from '../../components/copy-button.tsx';
import { MenuItem, ActionsMenu } from '../../components/menu.tsx';
import { Notice } from '../../components/notice.tsx';
import { Badge, State } from '../../components/state.tsx';
import { Table, type Column } from '../../components/table.tsx';
import { Time } from '../../components/time.tsx';
import { domainStates, type Domain } from '../../queries/domains.ts';
import styles from './settings.module.css';

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
  const [tone, word] = domainStates[domain.status];
  const { certificate } = domain;
  const isServing = domain.status === 'active';
  return (
    <section className={styles.card} aria-label={domain.hostname}>
      <div className={styles.cardHead}>
        <h2>{domain.hostname}</h2>
        {domain.branch !== null && <Badge>branch {domain.branch}</Badge>}
        {domain.redirectTo !== null && <Badge>redirects to {domain.redirectTo}</Badge>}
        <State tone={tone}>{word}</State>
        {isServing && (
          <OutsideLink href={`${certificate === null ? 'http' : 'https'}://${domain.hostname}`} size="small">
            Visit
          </OutsideLink>
        )}
        {!isServing && (
          <Button size="small" onClick={onLook} isPending={isLooking}>
            Check again
          </Button>
        )}
        <ActionsMenu of={domain.hostname}>
          <MenuItem onSelect={onLook}>Check DNS</MenuItem>
          <MenuItem onSelect={onRemove} isDanger>
            Remove…
          </MenuItem>
        </ActionsMenu>
      </div>
      {domain.problem !== null && (
        <Notice tone={domain.status === 'pending_verification' ? 'warning' : 'failed'} title={domain.problem}>
          <p>New records can take minutes to propagate. Changed records can take as long as their TTL.</p>
        </Notice>
      )}
      {!isServing && (
        <>
          <p className={styles.soft}>Create these records at the DNS provider of the domain:</p>
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
            Certificate{certificate.issuer !== null && ` by ${certificate.issuer}`}, expires{' '}
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
    header: 'Purpose',
    isFitted: true,
    phone: 'first-end',
    cell: ({ purpose }) => <Badge>{purpose === 'route' ? 'Address record' : 'Ownership record'}</Badge>,
  },
];

/** The required records; older API versions return only the ownership record. */
function recordsOf(domain: Domain & { readonly records?: readonly DnsRecord[] }): readonly DnsRecord[] {
  return domain.records ?? [{ ...domain.verification, purpose: 'verify' }];
}
