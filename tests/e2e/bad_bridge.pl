#!/usr/bin/perl
# A bridge that breaks the protocol in the way that BAD names.
use strict; use IO::Handle;
my $bad = $ENV{BAD};
open my $ctl, '+<&=', $ENV{STEAD_BRIDGE_FD} or die;
$ctl->autoflush(1);
sub say_hello { print $ctl qq({"ev":"hello","protocol":$_[0],"language":"bad","version":"1","executable":"x","pid":$$}\n) }
sub wait_for_ever { while (1) { sleep 1000 } }

if ($bad eq 'dies') { print STDERR "the licence has expired\n"; exit 3 }
if ($bad eq 'version') { say_hello(7); wait_for_ever() }
if ($bad eq 'garbage first') { print $ctl "Welcome to bad 1.0!\n"; wait_for_ever() }
say_hello(1);
my $line = <$ctl>; # the eval
if ($bad eq 'silent') { wait_for_ever() }
if ($bad eq 'answers unasked') { print $ctl qq({"ev":"reply","seq":77,"data":{}}\n); wait_for_ever() }
if ($bad eq 'garbage') { print $ctl "{\"ev\":\n"; wait_for_ever() }
if ($bad eq 'no event') { print $ctl "[1,2]\n"; wait_for_ever() }
if ($bad eq 'half a line') { print $ctl '{"ev":"do'; exit 4 }
if ($bad eq 'wrong done') { print $ctl qq({"ev":"done","eval":"other:99","status":"ok"}\n); wait_for_ever() }
if ($bad eq 'endless line') { my $x = 'x' x 65536; 1 while print $ctl $x; wait_for_ever() }
if ($bad eq 'closes') { close $ctl; wait_for_ever() }
