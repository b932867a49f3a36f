#!/usr/bin/perl
# A bridge for Perl in a few lines, from docs/PROTOCOL.md alone.
use strict; use JSON::PP; use IO::Handle; use Fcntl;

open my $ctl, '+<&=', delete $ENV{STEAD_BRIDGE_FD} or die "no control channel: $!";
fcntl $ctl, F_SETFD, FD_CLOEXEC;
my ($json, $inbox) = (JSON::PP->new->ascii->canonical, "");
our $user = 0;
our $newer = '';  # a word for how an eval ended that no host knows yet
STDOUT->autoflush(1); STDERR->autoflush(1);

sub tell_host { my $line = $json->encode({@_}) . "\n"; syswrite $ctl, $line or exit }
sub fill { sysread($ctl, $inbox, 65536, length $inbox) // ($!{EINTR} and return) or exit }
sub command {
    fill() until $inbox =~ /^([^\n]*)\n/;
    my @words = split / /, $1;
    my $need = length($1) + 1 + $words[-1];
    fill() while length $inbox < $need;
    my $payload = substr substr($inbox, 0, $need, ''), $need - $words[-1];
    return @words[0, 1], $payload;
}
sub is_aimed_at { my ($r, $id) = ('', @_); vec($r, fileno $ctl, 1) = 1;
    fill() if select $r, undef, undef, 0; return $inbox =~ /^interrupt \Q$id\E 0\n/ }

my $early = 0;
$SIG{URG} = sub { };
$SIG{INT} = sub { $user ? die "interrupted\n" : ($early = 1) };
tell_host(ev => 'hello', protocol => 1, language => 'perl', version => "$]", executable => $^X, pid => $$, can => []);
while (my ($word, $id, $code) = command()) {
    exit 0 if $word eq 'exit';
    next if $word ne 'eval';
    if ($early) { $early = 0; $early = 1 if is_aimed_at($id) }
    my $value = eval {
        local $user = 1;
        die "interrupted\n" if $early;
        my $got = eval "package main; no strict; $code"; die $@ if $@; $got };
    my $error = $@; $early = 0;
    my $status = !$error ? 'ok' : $error eq "interrupted\n" ? 'interrupted' : 'error';
    $status = $newer if $newer;
    tell_host(ev => 'value', text => "$value", type => ref $value || 'scalar') if !$error && defined $value;
    tell_host(ev => 'error', name => 'die', message => "$error") if $error;
    tell_host(ev => 'done', eval => $id, status => $status);
}
