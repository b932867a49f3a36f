#!/usr/bin/perl
# An adapter in a few lines, from docs/PROTOCOL.md alone: it stands for a server elsewhere that runs one word of code
# after another. ADAPTER_CAN is what it says it can, ADAPTER_EVENTS a pipe by which a test says what happens there.
use strict; use JSON::PP; use Fcntl; use POSIX ();

open my $ctl, '+<&=', delete $ENV{STEAD_BRIDGE_FD} or die "no control channel: $!";
fcntl $ctl, F_SETFD, FD_CLOEXEC;
open my $outside, '+<', $ENV{ADAPTER_EVENTS} or die "no events: $!" if $ENV{ADAPTER_EVENTS};
my ($json, $inbox, $heard) = (JSON::PP->new->ascii->canonical, '', '');
my ($running, $word, $rest, $waits, $paused) = ('', '', '', 0, 0);

sub tell_host { my $line = $json->encode({@_}) . "\n"; syswrite $ctl, $line or exit }
sub done { tell_host(ev => 'done', eval => $running, status => $_[0]); ($running, $waits) = ('', 0) }
sub value { tell_host(ev => 'value', text => "$_[0]", type => 'word'); done('ok') }
sub asks { tell_host(ev => 'waits', prompt => $rest, @_); $waits = 1 }

my %words = (
    echo => sub { value($rest) },
    ask => sub { asks() },
    secret => sub { asks(secret => JSON::PP::true) },
    loop => sub { },
    deaf => sub { },
    paused => sub { value($paused ? 'yes' : 'no') },
    later => sub { my $id = $running; done('ok'); tell_host(ev => 'background', stream => 'out', text => "$rest\n", eval => $id) },
    cut => sub {
        tell_host(ev => 'lost', reason => 'the server hung up');
        tell_host(ev => 'found', reason => 'it answers again', gap => JSON::PP::true);
        value($rest) },
    gone => sub { tell_host(ev => 'lost', reason => 'the server hung up');
        tell_host(ev => 'exiting', code => 1, reason => 'the kernel was removed from its server'); POSIX::_exit(1) },
    show => sub { tell_host(ev => 'display', mime => 'text/plain', data => $rest, id => 'bar'); done('ok') },
    redraw => sub { tell_host(ev => 'display', mime => 'text/plain', data => $rest, id => 'bar', update => JSON::PP::true); done('ok') },
    children => sub { system "sleep 1000 & echo \$!"; done('ok') },
);
# What happens elsewhere while a word runs.
my %events = (
    answered => sub { tell_host(ev => 'waits_no_more'); $waits = 0 },
    asks => sub { $rest = $_[0]; asks() },
    ends => sub { value('ended elsewhere') },
);
sub interrupt {
    return if $_[0] ne $running;
    return tell_host(ev => 'interrupted', eval => $running, error => 'this server knows no interrupt') if $word eq 'deaf';
    tell_host(ev => 'interrupted', eval => $running); done('interrupted');
}
sub pause {
    my ($seq, $to) = @_;
    POSIX::_exit(3) if $ENV{ADAPTER_DIES};
    return open my $asked, '>', 'asked' if $ENV{ADAPTER_SILENT};
    return tell_host(ev => 'reply', seq => $seq, error => 'this server does not stop') if $ENV{ADAPTER_STUBBORN};
    $paused = $to; tell_host(ev => 'reply', seq => $seq, data => {});
}
sub command {
    my ($name, $id, $payload) = @_;
    if ($name eq 'eval') { $running = $id; ($word, $rest) = split ' ', $payload, 2; $words{$word}->() }
    elsif ($name eq 'interrupt') { interrupt($id) }
    elsif ($name eq 'pause') { pause($id + 0, 1) }
    elsif ($name eq 'resume') { pause($id + 0, 0) }
    elsif ($name eq 'figures') { tell_host(ev => 'figures', processes => 7, memory_bytes => 1 << 50, cpu_ms => 12345678) }
    elsif ($name eq 'exit') { exit 0 }
}

tell_host(ev => 'hello', protocol => 1, language => 'toy', version => '1', executable => $0, pid => $$,
    can => [split / /, $ENV{ADAPTER_CAN} // '']);
while (1) {
    while ($inbox =~ /^([^\n]*)\n/) {
        my @words = split / /, $1;
        my $need = length($1) + 1 + $words[-1];
        last if length $inbox < $need;
        my $payload = substr substr($inbox, 0, $need, ''), $need - $words[-1];
        command(@words[0, 1], $payload);
    }
    my $ready = '';
    vec($ready, fileno $ctl, 1) = 1;
    vec($ready, 0, 1) = 1 if $waits;
    vec($ready, fileno $outside, 1) = 1 if $outside;
    select $ready, undef, undef, undef or next;
    if (vec $ready, fileno $ctl, 1) { sysread $ctl, $inbox, 65536, length $inbox or exit }
    if ($outside && vec $ready, fileno $outside, 1) {
        sysread $outside, $heard, 4096, length $heard;
        while ($heard =~ s/^(\w+) ?([^\n]*)\n//) { $events{$1}->($2) }
    }
    # One byte after another, so that the next question finds the next line.
    if ($waits && vec $ready, 0, 1) {
        my $line = '';
        while (sysread STDIN, my $byte, 1) { last if $byte eq "\n"; $line .= $byte }
        $waits = 0;
        value("got $line");
    }
}
