#!/usr/bin/perl
# A bridge that saves and loads what stands in %v, from docs/PROTOCOL.md and docs/SAVED.md alone. Values do as they are
# told: `no` cannot be saved, `ask` reads a line first, `slow` holds the save up until it is interrupted.
use strict; use JSON::PP; use IO::Handle; use Fcntl; use File::Basename; use File::Path 'make_path';

open my $ctl, '+<&=', delete $ENV{STEAD_BRIDGE_FD} or die "no control channel: $!";
fcntl $ctl, F_SETFD, FD_CLOEXEC;
my ($json, $inbox, $early) = (JSON::PP->new->ascii->canonical, '', 0);
our (%v, $user);
STDOUT->autoflush(1); STDERR->autoflush(1);

sub tell_host { my $line = $json->encode({@_}) . "\n"; syswrite $ctl, $line or exit }
sub fill { sysread($ctl, $inbox, 65536, length $inbox) // ($!{EINTR} and return) or exit }
sub command {
    fill() until $inbox =~ /^([^\n]*)\n/;
    my @words = split / /, $1;
    my $need = length($1) + 1 + $words[-1];
    fill() while length $inbox < $need;
    my $payload = substr substr($inbox, 0, $need, ''), $need - pop @words;
    return \@words, $payload;
}
sub is_aimed_at { my ($r, $id) = ('', @_); vec($r, fileno $ctl, 1) = 1;
    fill() if select $r, undef, undef, 0; return $inbox =~ /^interrupt \Q$id\E 0\n/ }

sub save {
    my ($path, $force, @names) = split /\n/, shift, -1;
    @names = sort keys %v unless @names;
    my (@saved, @failed, %body);
    for my $name (@names) {
        my $value = $v{$name};
        if (!exists $v{$name}) { push @failed, {name => $name, type => '', why => 'there is no such name'}; next }
        if ($value eq 'no') { push @failed, {name => $name, type => 'no', why => 'it says no'}; next }
        if ($value eq 'slow') { print "saving slowly\n"; sleep 1000 }
        if ($value eq 'ask') { print 'which? '; chomp($value = <STDIN>) }
        $body{$name} = $value; push @saved, $name;
    }
    die "SaveError: none of these names exists\n" if @names && !@saved && grep { !exists $v{$_} } @names;
    die "SaveError: `$path` is not a file that a save has written\n" if -e $path && -s $path && !$force && head($path) ne "STEADSAVE1\n";
    make_path(dirname $path);
    my ($first, $body) = ("STEADSAVE1\n", $json->encode(\%body));
    my $manifest = $json->encode({format => 1, language => 'perl', version => "$]", saved => '2026-11-16T22:00:00Z',
        session => 'toy', names => [map { {name => $_, type => 'scalar', value => $body{$_}} } @saved], failed => \@failed});
    my $all = $first . $body . $manifest . sprintf "STEADEND %020d %020d\n", length $first . $body, length $manifest;
    my $temp = dirname($path) . '/.' . basename($path) . ".$$.tmp";
    sysopen my $out, $temp, O_WRONLY | O_CREAT | O_EXCL, 0600 or die "SaveError: $!\n";
    syswrite $out, $all; close $out; rename $temp, $path or die "SaveError: $!\n";
    return {path => $path, bytes => length $all, saved => \@saved, count => 0 + @saved, failed => \@failed, failed_count => 0 + @failed};
}
sub head { open my $in, '<', shift or return ''; read $in, my $head, 11; $head }
sub load {
    my $path = shift;
    open my $in, '<', $path or die "LoadError: $!\n"; local $/; my $all = <$in>;
    $all =~ /STEADEND (\d{20}) (\d{20})\n\z/ or die "LoadError: `$path` is cut off\n";
    my $body = $json->decode(substr $all, 11, $1 - 11);
    die "LoadError: it holds poison\n" if exists $body->{poison};
    @v{keys %$body} = values %$body;
    my @names = sort keys %$body;
    return {path => $path, loaded => \@names, count => 0 + @names, failed => [], failed_count => 0, warnings => ['saved by another perl']};
}

$SIG{URG} = sub { };
$SIG{INT} = sub { $user ? die "interrupted\n" : ($early = 1) };
tell_host(ev => 'hello', protocol => 1, language => 'perl', version => "$]", executable => $^X, pid => $$, can => ['save', 'load']);
while (my ($words, $payload) = command()) {
    my ($word, $id, $what) = @$words;
    exit 0 if $word eq 'exit';
    next if $word ne 'eval' && $word ne 'work';
    if ($early) { $early = 0; $early = 1 if is_aimed_at($id) }
    my $made = eval {
        local $user = 1;
        die "interrupted\n" if $early;
        if ($word eq 'work') { $what eq 'save' ? save($payload) : $what eq 'load' ? load($payload) : die "Unsupported: `$what`\n" }
        else { my $got = eval "no strict; $payload"; die $@ if $@; $got } };
    my $error = $@; $early = 0;
    my $status = !$error ? 'ok' : $error eq "interrupted\n" ? 'interrupted' : 'error';
    if ($error && $status eq 'error') {
        my ($name, $message) = $error =~ /^(\w+): (.*)\n/ ? ($1, $2) : ('die', $error);
        tell_host(ev => 'error', name => $name, message => $message);
    }
    elsif (!$error && $word eq 'work') { tell_host(ev => 'report', data => $made) }
    elsif (!$error && defined $made) { tell_host(ev => 'value', text => "$made", type => 'scalar') }
    tell_host(ev => 'done', eval => $id, status => $status, variables => 0 + keys %v);
}
